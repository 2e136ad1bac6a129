"""One rank of a DistributedDataParallel training: ddp_rank.py JOB DATA EPOCHS [STOP_AT FILE | -1 FILE]. Prints its results."""

import hashlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from training import loader_of, model_of, scores_of


def main(job, data, epochs, stop_at="-1", path=""):
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    loader = loader_of(job, data, columns=("image", "label", "ids"))
    model = model_of(1)
    scores_of(model, torch.zeros(1, 32, 32, 3))
    if dist.is_initialized():
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9)
    if path and os.path.exists(path):
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])  # one state for all ranks
    steps = []
    for _ in range(loader.epoch, int(epochs)):
        for images, labels, ids in loader:
            loss = torch.nn.functional.cross_entropy(scores_of(model, images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rows = [hashlib.sha256(image.numpy().tobytes()).hexdigest() for image in images]
            steps.append({"ids": ids.tolist(), "rows": rows, "labels": labels.tolist(), "loss": float(loss.detach())})
            if len(steps) == int(stop_at):
                break
        if len(steps) == int(stop_at):
            if loader.rank == 0:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict()}
                torch.save(state, path)
            break
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()
    print(json.dumps({"world_size": loader.world_size, "steps": steps}))


if __name__ == "__main__":
    main(*sys.argv[1:])
