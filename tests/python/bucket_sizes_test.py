"""Buckets whose batches have a budget, or sizes for ranges of lengths: what a user sees in Python and on the command line."""

import itertools
import json
import random
import re

import pytest

import penstock
from fixtures import BIN
from penstock import ConfigurationError
from tar_test import daemon, run

RECORDS = 300
BUDGET = {"by": "len(tokens)", "bins": 64, "budget": 512, "multiple": 4}


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    dice = random.Random(3)
    lengths = [1 + min(int(dice.lognormvariate(3, 1)), 120) for _ in range(RECORDS)]
    for number in range(3):
        part = enumerate(lengths[number * 100 : number * 100 + 100], number * 100)
        (folder / f"{number}.jsonl").write_text("".join(json.dumps({"id": i, "tokens": [i] * n}) + "\n" for i, n in part))
    return folder


def job_of(bucket=None, last="PARTIAL", size=64, **more):
    return penstock.Job(
        name="texts", dataset={"files": "*.jsonl", "select": [{"bucket": bucket or BUDGET}]},
        features={"id": "INT64", "tokens": {"type": "INT64", "variable_length": True}}, order={"seed": 5},
        batch={"size": size, "last": last}, **more)


def ids_of(loader):
    return [batch["id"].tolist() for batch in loader]


def test_each_epoch_has_each_record_once_in_batches_within_the_budget(texts):
    with penstock.Loader(job_of(), data_root=texts) as loader:
        assert loader.batch_size == 64
        epochs = []
        for _ in range(3):
            count = len(loader)
            batches = list(loader)
            assert len(batches) == count
            for number, batch in enumerate(batches):
                padded = batch["tokens"].to_padded()
                assert padded.size <= 512
                assert len(padded) % 4 == 0 or number == count - 1
            epochs.append([batch["id"].tolist() for batch in batches])
            assert sorted(itertools.chain.from_iterable(epochs[-1])) == list(range(RECORDS))
        assert len({tuple(map(tuple, map(sorted, epoch))) for epoch in epochs}) == 3, "the batches are shuffled"
        assert len({len(batch) for batch in epochs[0]}) > 3


@pytest.mark.parametrize("last", ["DROP", "PAD"])
def test_ranks_share_the_steps_of_a_served_and_of_a_local_job(texts, last):
    job = job_of(last=last)
    with penstock.Loader(job, data_root=texts, epochs=2) as loader:
        whole = ids_of(loader)
        assert len(loader) == len(whole)
    with daemon(texts) as address:
        penstock.submit(job, coordinator=address)
        for world_size in (1, 2, 4):
            ranks = []
            for rank in range(world_size):
                place = {"rank": rank, "world_size": world_size, "epochs": 2}
                with penstock.Loader("texts", coordinator=address, **place) as loader:
                    assert len(loader) == len(whole)
                    ranks.append(ids_of(loader))
            assert [list(itertools.chain.from_iterable(parts)) for parts in zip(*ranks)] == whole


def test_a_run_continues_after_each_step(texts):
    with penstock.Loader(job_of(last="DROP"), data_root=texts, epochs=2) as loader:
        whole = ids_of(loader)
    with penstock.Loader(job_of(last="DROP"), data_root=texts, epochs=2) as loader:
        states = [loader.state_dict() for _ in loader]
    for step in range(0, len(states), 7):
        with penstock.Loader(job_of(last="DROP"), data_root=texts, epochs=2) as loader:
            loader.load_state_dict(states[step])
            read = ids_of(loader)
            assert read[: len(whole) - step - 1] == whole[step + 1 :]


def test_bounds_give_each_range_its_size(texts):
    bounds = {"by": "len(tokens)", "bounds": [10, 40], "sizes": [32, 16, 4], "multiple": 4}
    with penstock.Loader(job_of(bounds), data_root=texts) as loader:
        sizes = set()
        for batch in loader:
            longest = batch["tokens"].to_padded().shape[1]
            assert len(batch["id"]) <= (32 if longest < 10 else 16 if longest < 40 else 4)
            sizes.add(len(batch["id"]))
        assert {32, 16, 4} <= sizes


def test_mistakes_are_named(texts):
    for bucket, words in [
        ({**BUDGET, "budget": -1}, "budget: -1: it must be greater than 0"),
        ({**BUDGET, "multiple": 65}, "multiple: 65: greater than batch.size, 64"),
        ({"by": "len(tokens)", "multiple": 2}, "give a budget, or sizes"),
        ({**BUDGET, "bounds": [3]}, "bounds go with sizes"),
        ({"by": "len(tokens)", "bounds": [3], "sizes": [4]}, "1 sizes for 1 bounds; give one more"),
        ({"by": "len(tokens)", "bounds": [3, 3], "sizes": [4, 4, 4]}, "3: bounds are ascending"),
        ({"by": "len(tokens)", "bounds": [3], "sizes": [4, 65]}, "65: a multiple of 1, at most batch.size, 64"),
        ({**BUDGET, "budget": 300}, "the budget of 300 has no room for 4 rows with the value"),
        ({**BUDGET, "by": "'text'"}, "is no number; give one, such as `len"),
    ]:
        with pytest.raises(ConfigurationError) as error, penstock.Loader(job_of(bucket), data_root=texts) as loader:
            next(iter(loader))
        assert words in str(error.value)
    with (
        pytest.raises(ConfigurationError, match="leave batch_size out"),
        penstock.Loader(job_of(), data_root=texts, batch_size=8) as loader,
    ):
        next(iter(loader))
    with (
        pytest.raises(ConfigurationError, match="choose a bucket.multiple that is a multiple of the world size"),
        penstock.Loader(job_of(last="DROP"), data_root=texts, rank=0, world_size=3) as loader,
    ):
        next(iter(loader))


def test_a_state_of_other_sizes_is_refused(texts):
    with penstock.Loader(job_of(), data_root=texts) as loader:
        next(iter(loader))
        state = loader.state_dict()
    changes = ({"budget": 600}, {"multiple": 2}, {"bins": 63}, {"cost": "QUADRATIC", "budget": 60_000})
    for other in [{**BUDGET, **change} for change in changes]:
        with penstock.Loader(job_of(other), data_root=texts) as loader:
            loader.load_state_dict(state)
            with pytest.raises(ConfigurationError, match="order"):
                next(iter(loader))


def test_commands_name_the_sizes(texts):
    job = texts.parent / "texts.textproto"
    job_of(last="DROP").save(job)
    with daemon(texts) as address:
        shown = run("submit", job, "--coordinator", address)
        assert shown.returncode == 0, shown.stderr
        assert re.search(r"an epoch has 300 rows: \d+ steps of at most 5\d\n", shown.stdout)
        assert re.search("batches of at most 5. rows", shown.stdout)
        assert "dropped" not in shown.stderr
        read = run("read", "texts", "--coordinator", address, "--json")
        assert json.loads(read.stdout)["rows"] == RECORDS
    done = run("bench", job, "--data-root", texts, "--seconds", "1", "--no-stages")
    assert done.returncode == 0, done.stderr
