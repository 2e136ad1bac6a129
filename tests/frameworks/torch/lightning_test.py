"""The loader in place of a DataLoader in Lightning."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lightning")
from lightning_model import Model, loader, trainer

pytestmark = pytest.mark.filterwarnings("ignore")
SCRIPT = Path(__file__).with_name("lightning_model.py")


def ids_of(job, epochs=1, **arguments):
    with loader(job, ("ids",), epochs=epochs, **arguments) as rows:
        return [ids.tolist() for (ids,) in rows]


def test_fit_trains_and_validates_on_every_row(small_job, tmp_path):
    model = Model()
    trainer(tmp_path, max_epochs=2).fit(model, loader(small_job), loader(small_job, batch_size=32, padded=True))
    assert [ids for ids, _ in model.trained] == ids_of(small_job, 2)
    # 100 rows in batches of 32: padded, and counted exactly.
    assert model.validated == [100, 100]
    assert model.losses[-1] < model.losses[0]


@pytest.mark.parametrize("step", [2, 5, 7])
def test_fit_goes_on_from_a_checkpoint(small_job, tmp_path, step):
    """Lightning itself saves and restores the loader: its state_dict is in the checkpoint. An epoch has 5 steps."""
    whole = Model()
    trainer(tmp_path, max_epochs=2, checkpoints=True).fit(whole, loader(small_job), loader(small_job, padded=True))
    assert len(whole.trained) == 10
    (path,) = tmp_path.glob(f"*step={step}.ckpt")
    again = Model(seed=5)
    trainer(tmp_path / "again", max_epochs=2).fit(
        again, loader(small_job), loader(small_job, padded=True), ckpt_path=path, weights_only=False
    )
    assert again.trained == whole.trained[step:]


def test_a_part_of_an_epoch_is_followed_by_the_next_epoch(small_job, tmp_path):
    model = Model()
    trainer(tmp_path, max_epochs=3, limit_train_batches=2, limit_val_batches=1).fit(
        model, loader(small_job), loader(small_job, padded=True)
    )
    epochs = ids_of(small_job, 3)
    assert [ids for ids, _ in model.trained] == epochs[0:2] + epochs[5:7] + epochs[10:12]


def test_validate_test_and_predict(small_job, tmp_path):
    model = Model()
    trainer(tmp_path).validate(model, loader(small_job, batch_size=32, padded=True), verbose=False)
    trainer(tmp_path).test(model, loader(small_job, batch_size=32, padded=True), verbose=False)
    assert model.validated == [100, 100]
    predictions = trainer(tmp_path).predict(model, loader(small_job, batch_size=32, padded=True))
    assert sum(map(len, predictions)) == 100


def test_two_ranks_are_one(small_job, tmp_path):
    """Trainer(strategy="ddp") starts the second process itself."""
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    command = [sys.executable, str(SCRIPT), small_job.path, small_job.data, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    ranks = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(2)]
    assert [a + b for a, b in zip(*(rank["trained"] for rank in ranks))] == ids_of(small_job, 2)
    assert [sum(counts) for counts in zip(*(rank["validated"] for rank in ranks))] == [100, 100]
