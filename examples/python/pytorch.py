"""A small convolutional network in PyTorch: pytorch.py JOB.textproto DATA_ROOT [--epochs N] [--checkpoint FILE]

Shows PyTorch's recipes: automatic mixed precision, gradient clipping, a schedule, a checkpoint of the whole state from which it
resumes bit for bit, also in mid-epoch, and an exact accuracy. JOB has the columns image (uint8) and label, as in a job of
`penstock init`.
"""

import argparse
import os

import penstock.torch
import torch
from penstock import ops
from torch import nn


def network(classes):
    return nn.Sequential(
        nn.Conv2d(3, 32, 8, stride=8), nn.ReLU(),
        nn.Conv2d(32, 32, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(32 * 4 * 4, classes),
    )  # fmt: skip


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
    parser.add_argument("--checkpoint")
    given = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    # The loader copies batches to a GPU in advance and normalizes them there, so that the bus transfers uint8.
    arguments = {
        "data_root": given.data_root,
        "device": device,
        "normalize": {"image": penstock.torch.Normalize()},
    }
    job = penstock.Job.load(given.job)
    loader = penstock.torch.Loader(job, batch_size=50, columns=("image", "label"), **arguments)
    height, width, _ = loader.schema["image"].shape
    evaluation = penstock.torch.Loader(evaluation_of(job, height, width), columns=("image", "label", "valid"), **arguments)

    torch.manual_seed(1)
    model = network(given.classes).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=given.epochs * len(loader))
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "loader": loader}
    if given.checkpoint and os.path.exists(given.checkpoint):
        saved = torch.load(given.checkpoint, map_location=device)
        for name, part in parts.items():
            part.load_state_dict(saved[name])

    for epoch in range(loader.epoch, given.epochs):
        model.train()
        losses = []
        for images, labels in loader:
            with torch.autocast(device.type, torch.bfloat16):
                loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.detach())
        if given.checkpoint:
            torch.save({name: part.state_dict() for name, part in parts.items()}, given.checkpoint + ".new")
            os.replace(given.checkpoint + ".new", given.checkpoint)
        model.eval()
        correct = rows = 0
        with torch.inference_mode():
            for images, labels, valid in evaluation:
                correct += int(((model(images).argmax(1) == labels) & valid).sum())  # padding does not count
                rows += int(valid.sum())
        print(f"epoch {epoch}: loss {torch.stack(losses).mean():.3f}, accuracy {correct / rows:.3f} ({correct} of {rows})")

    stats = loader.stats()
    print(f"{stats['rows_per_second']:.0f} rows/s, waited {100 * stats['waited_share']:.0f} % of the time")


if __name__ == "__main__":
    main()
