"""DistributedDataParallel: torchrun --nproc-per-node 2 pytorch_ddp.py JOB.textproto DATA_ROOT [--epochs N] [--checkpoint FILE]

Each rank receives only its own rows of each step, without a sampler or set_epoch. The loader reads the rank from
torch.distributed. The states of all ranks are equal. Without torchrun there is one rank. JOB is a job of `penstock init`.
"""

import argparse
import os

import penstock.torch
import torch
import torch.distributed as dist
from penstock import ops
from torch import nn
from torch.nn.parallel import DistributedDataParallel


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

    local = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    if "RANK" not in os.environ:
        os.environ.update({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"})
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")

    arguments = {
        "data_root": given.data_root,
        "device": device,
        "normalize": {"image": penstock.torch.Normalize()},
    }
    job = penstock.Job.load(given.job)
    # batch_size is the number of rows of all ranks together, so the training is the same on 1, 2 or 4 ranks.
    loader = penstock.torch.Loader(job, batch_size=40, columns=("image", "label"), **arguments)
    height, width, _ = loader.schema["image"].shape
    evaluation = penstock.torch.Loader(evaluation_of(job, height, width), columns=("image", "label", "valid"), **arguments)

    torch.manual_seed(1)
    model = DistributedDataParallel(network(given.classes).to(device, memory_format=torch.channels_last))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=given.epochs * len(loader))
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "loader": loader}
    if given.checkpoint and os.path.exists(given.checkpoint):
        saved = torch.load(given.checkpoint, map_location=device)
        for name, part in parts.items():
            part.load_state_dict(saved[name])

    for epoch in range(loader.epoch, given.epochs):
        model.train()
        loss_sum = torch.zeros((), device=device)
        for images, labels in loader:
            with torch.autocast(device.type, torch.bfloat16):
                loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            loss_sum += loss.detach()
        if given.checkpoint and dist.get_rank() == 0:
            torch.save({name: part.state_dict() for name, part in parts.items()}, given.checkpoint + ".new")
            os.replace(given.checkpoint + ".new", given.checkpoint)
        model.eval()
        counts = torch.zeros(3, device=device)  # loss, correct rows and all rows, of all ranks
        counts[0] = loss_sum / len(loader) / dist.get_world_size()
        with torch.inference_mode():
            for images, labels, valid in evaluation:
                counts[1] += ((model.module(images).argmax(1) == labels) & valid).sum()  # padding does not count
                counts[2] += valid.sum()
        dist.all_reduce(counts)
        loss, correct, rows = counts.tolist()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss:.3f}, accuracy {correct / rows:.3f} ({correct:.0f} of {rows:.0f})")

    stats = loader.stats()
    print(f"rank {loader.rank}: {stats['rows_per_second']:.0f} rows/s, waited {100 * stats['waited_share']:.0f} % of the time")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
