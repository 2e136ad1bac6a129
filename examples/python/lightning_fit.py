"""Lightning: lightning_fit.py JOB.textproto DATA_ROOT [--epochs N] [--devices N] [--checkpoint FOLDER]

The loaders replace DataLoaders, on one device or several. Lightning's checkpoints include the loader's state, so `ckpt_path`
resumes in mid-epoch. JOB is a job of `penstock init`. (A file called lightning.py would hide Lightning itself.)
"""

import argparse
import os

import lightning
import penstock.torch
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from penstock import ops
from torch import nn


class Classifier(lightning.LightningModule):
    def __init__(self, classes):
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(3, 32, 8, stride=8), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(32 * 4 * 4, classes),
        )  # fmt: skip
        self.losses = []

    def training_step(self, batch, _):
        images, labels = batch
        loss = nn.functional.cross_entropy(self.network(images), labels)
        self.losses.append(loss.detach().float())
        return loss

    def on_validation_epoch_start(self):
        self.counts = torch.zeros(2, device=self.device)  # correct rows, all rows

    def validation_step(self, batch, _):
        images, labels, valid = batch
        self.counts[0] += ((self.network(images).argmax(1) == labels) & valid).sum()  # padding does not count
        self.counts[1] += valid.sum()

    def on_validation_epoch_end(self):
        correct, rows = self.trainer.strategy.reduce(self.counts, reduce_op="sum").tolist()
        loss = torch.stack(self.losses).mean()
        self.losses.clear()
        if self.trainer.is_global_zero:
            print(
                f"epoch {self.current_epoch}: loss {loss:.3f}, accuracy {correct / rows:.3f} ({correct:.0f} of {rows:.0f})"
            )

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=2e-3)
        steps = self.trainer.estimated_stepping_batches
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def evaluation_of(job, height, width):
    """Returns a job that reads every record once, without randomness, and pads the last batch."""
    return penstock.Job(
        name=f"{job.name}-eval",
        dataset=job.dataset,
        features=job.features,
        ops=[ops.decode_image(), ops.resize(shorter_side=height * 8 // 7), ops.center_crop(height=height, width=width)],
        order={"shuffle": "NONE"},
        batch={"size": 64, "last": "PAD"},
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job")
    parser.add_argument("data_root")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--size", type=int, default=224, help="height and width of the images for evaluation")
    parser.add_argument("--checkpoint")
    given = parser.parse_args()

    lightning.seed_everything(1, verbose=False)
    # The loader does not start here. It starts with Trainer.fit, in each of its processes.
    arguments = {"data_root": given.data_root, "normalize": {"image": penstock.torch.Normalize()}}
    job = penstock.Job.load(given.job)
    loader = penstock.torch.Loader(job, batch_size=40, columns=("image", "label"), **arguments)
    evaluation = penstock.torch.Loader(
        evaluation_of(job, given.size, given.size), columns=("image", "label", "valid"), **arguments
    )
    callbacks, last = [], None
    if given.checkpoint:
        callbacks = [ModelCheckpoint(given.checkpoint, save_last=True, every_n_train_steps=10)]
        last = os.path.join(given.checkpoint, "last.ckpt")
    trainer = lightning.Trainer(
        max_epochs=given.epochs,
        devices=given.devices,
        precision="bf16-mixed",
        gradient_clip_val=1.0,
        num_sanity_val_steps=0,
        callbacks=callbacks,
        enable_checkpointing=bool(callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
    )
    trainer.fit(Classifier(given.classes), loader, evaluation, ckpt_path=last if last and os.path.exists(last) else None)
    stats = loader.stats()
    print(f"rank {loader.rank}: {stats['rows_per_second']:.0f} rows/s, waited {100 * stats['waited_share']:.0f} % of the time")


if __name__ == "__main__":
    main()
