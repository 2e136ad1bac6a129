"""Ray Train: ray_train.py JOB.textproto DATA_ROOT [--epochs N] [--ranks N] [--checkpoint FOLDER]

Ray starts the ranks, and starts them again if a process or a node fails. Ray's checkpoints contain the loader's state, so the
training continues in the middle of an epoch, with the rows of an undisturbed training. A second run with the same FOLDER
continues too. JOB is a job of `penstock init`. JOB, DATA_ROOT and FOLDER must be on a file system that all nodes share.
"""

import argparse
import os
import tempfile

import penstock.torch
import ray.train
import torch
import torch.distributed as dist
from penstock import ops
from ray.train.torch import TorchTrainer, get_device, prepare_model
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


def train(config):
    """Runs in the process of each rank. Ray has initialized torch.distributed, from which the loader reads the rank."""
    device = get_device()
    arguments = {
        "data_root": config["data_root"],
        "device": device,
        "normalize": {"image": penstock.torch.Normalize()},
    }
    job = penstock.Job.load(config["job"])
    # batch_size is the number of rows of all ranks together, so the training is the same on 1, 2 or 4 ranks. Do not use
    # prepare_data_loader, which is for DataLoaders: this loader gives each rank only its own rows.
    loader = penstock.torch.Loader(job, batch_size=config["batch_size"], columns=("image", "label"), **arguments)
    height, width, _ = loader.schema["image"].shape
    evaluation = penstock.torch.Loader(evaluation_of(job, height, width), columns=("image", "label", "valid"), **arguments)

    torch.manual_seed(1)
    net = network(config["classes"]).to(device, memory_format=torch.channels_last)
    model = prepare_model(net)  # DistributedDataParallel
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    parts = {"model": net, "optimizer": optimizer, "loader": loader}

    steps = 0  # over all epochs
    checkpoint = ray.train.get_checkpoint()  # the last one of this run, after a failure and in a second run
    if checkpoint:
        with checkpoint.as_directory() as folder:
            saved = torch.load(os.path.join(folder, "state.pt"), map_location=device)
        for name, part in parts.items():
            part.load_state_dict(saved[name])
        steps = saved["steps"]

    def report(metrics):
        """All ranks must call it. The states of all ranks are equal, so rank 0 saves its own one."""
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = None
            if loader.rank == 0:
                state = {name: part.state_dict() for name, part in parts.items()}
                torch.save({**state, "steps": steps}, os.path.join(folder, "state.pt"))
                checkpoint = ray.train.Checkpoint.from_directory(folder)
            ray.train.report(metrics, checkpoint=checkpoint)

    for epoch in range(loader.epoch, config["epochs"]):
        model.train()
        for images, labels in loader:
            with torch.autocast(device.type, torch.bfloat16):
                loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            steps += 1
            if steps % config["checkpoint_steps"] == 0 and steps % len(loader) != 0:
                report({"steps": steps})
        model.eval()
        counts = torch.zeros(3, device=device)  # loss, correct rows and all rows, of all ranks
        with torch.inference_mode():
            for images, labels, valid in evaluation:
                scores = model(images)
                counts[0] += (nn.functional.cross_entropy(scores, labels, reduction="none") * valid).sum()
                counts[1] += ((scores.argmax(1) == labels) & valid).sum()  # padding does not count
                counts[2] += valid.sum()
        dist.all_reduce(counts)
        loss, correct, rows = counts.tolist()
        if loader.rank == 0:
            print(f"epoch {epoch}: loss {loss / rows:.3f}, accuracy {correct / rows:.3f} ({correct:.0f} of {rows:.0f})")
        report({"steps": steps, "loss": loss / rows, "accuracy": correct / rows})

    stats = loader.stats()
    print(f"rank {loader.rank}: {stats['rows_per_second']:.0f} rows/s, waited {100 * stats['waited_share']:.0f} % of the time")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job")
    parser.add_argument("data_root")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=40)
    parser.add_argument("--checkpoint", help="a folder for Ray's checkpoints; default: a new one below ~/ray_results")
    parser.add_argument("--checkpoint-steps", type=int, default=100)
    given = parser.parse_args()

    name = storage = None
    if given.checkpoint:
        storage, name = os.path.split(os.path.abspath(given.checkpoint))
    trainer = TorchTrainer(
        train,
        train_loop_config={
            "job": os.path.abspath(given.job),  # Ray's processes may have another current folder
            "data_root": os.path.abspath(given.data_root),
            "epochs": given.epochs,
            "classes": given.classes,
            "batch_size": given.batch_size,
            "checkpoint_steps": given.checkpoint_steps,
        },
        scaling_config=ray.train.ScalingConfig(num_workers=given.ranks, use_gpu=torch.cuda.is_available()),
        run_config=ray.train.RunConfig(
            name=name,
            storage_path=storage,
            failure_config=ray.train.FailureConfig(max_failures=3),
            checkpoint_config=ray.train.CheckpointConfig(num_to_keep=2),
        ),
    )
    print(f"checkpoint: {trainer.fit().checkpoint.path}")


if __name__ == "__main__":
    main()
