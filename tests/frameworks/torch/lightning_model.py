"""A LightningModule that records its batches. Run as a program, it is a training with two processes."""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from training import model_of, scores_of

import penstock.torch


class Files(NamedTuple):
    path: str
    data: str


def loader(job, columns=("image", "label", "valid", "ids"), padded=False, **arguments):
    if padded:
        text = Path(job.path).read_text()
        what = Path(job.path).with_name("padded.textproto")
        what.write_text(text.replace("last: DROP", "last: PAD"))
        return penstock.torch.Loader(what, data_root=job.data, columns=columns, **arguments)
    return penstock.torch.Loader(job.path, data_root=job.data, columns=columns, **arguments)


def trainer(folder, checkpoints=False, **arguments):
    callbacks = []
    if checkpoints:
        callbacks = [ModelCheckpoint(folder, filename="{step}", every_n_train_steps=1, save_top_k=-1)]
    return lightning.Trainer(
        default_root_dir=folder,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=checkpoints,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
        **arguments,
    )


class Model(lightning.LightningModule):
    def __init__(self, seed=1):
        super().__init__()
        self.model = model_of(seed)
        scores_of(self.model, torch.zeros(1, 32, 32, 3))
        self.trained, self.losses, self.validated = [], [], []

    def training_step(self, batch, _):
        images, labels, valid, ids = batch
        assert valid.all()
        loss = torch.nn.functional.cross_entropy(scores_of(self.model, images), labels)
        self.trained.append((ids.tolist(), float(loss.detach())))
        self.losses.append(float(loss.detach()))
        return loss

    def on_validation_epoch_start(self):
        if not self.trainer.sanity_checking:
            self.validated.append(0)

    on_test_epoch_start = on_validation_epoch_start

    def validation_step(self, batch, _):
        _, _, valid, _ = batch
        if not self.trainer.sanity_checking:
            self.validated[-1] += int(valid.sum())

    test_step = validation_step

    def predict_step(self, batch, _):
        images, _, valid, _ = batch
        return scores_of(self.model, images).argmax(1)[valid]

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.02, momentum=0.9)


def main(path, data, folder):
    job = Files(path, data)
    model = Model()
    ranks = trainer(folder, max_epochs=2, devices=2, strategy="ddp")
    ranks.fit(model, loader(job), loader(job, batch_size=32, padded=True))
    seen = {"trained": [ids for ids, _ in model.trained], "validated": model.validated}
    (Path(folder) / f"rank{ranks.global_rank}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
