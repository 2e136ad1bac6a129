"""A small training on real data with PyTorch, shared by the tests here and the processes that they start."""

import json
import os
import random
import subprocess
import sys

import numpy as np
import torch
from free_port import free_port

import penstock.torch


def loader_of(job, data, **arguments):
    return penstock.torch.Loader(job, data_root=data, **arguments)


def model_of(seed):
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(1000)
    )


def scores_of(model, images):
    return model(images.permute(0, 3, 1, 2).float() / 255)


class Training:
    """Model, optimizer with momentum, schedule and loader. Its whole state can be saved."""

    def __init__(self, job, data, seed=1, **arguments):
        self.loader = loader_of(job, data, columns=("image", "label", "ids"), **arguments)
        self.model = model_of(seed)
        scores_of(self.model, torch.zeros(1, 32, 32, 3))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, max_lr=0.05, total_steps=100)

    def step(self, images, labels):
        # Some noise, because the generators' states are part of a training's state.
        noise = torch.rand(images.shape[0], 1, 1, 1) + random.random() + np.random.random()
        loss = torch.nn.functional.cross_entropy(scores_of(self.model, images * (1 + noise / 100)), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return float(loss.detach())

    def run(self, epochs, stop_at=None):
        """Returns (ids, losses) of the steps, up to `stop_at` of them."""
        seen = []
        for _ in range(self.loader.epoch, epochs):
            for images, labels, ids in self.loader:
                seen.append((ids.tolist(), self.step(images, labels)))
                if len(seen) == stop_at:
                    return seen
        return seen

    def state(self):
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "loader": self.loader.state_dict(),
            "generators": (torch.get_rng_state(), random.getstate(), np.random.get_state()),
        }

    def load(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.loader.load_state_dict(state["loader"])
        torch.set_rng_state(state["generators"][0])
        random.setstate(state["generators"][1])
        np.random.set_state(state["generators"][2])


def run_ranks(script, *arguments, ranks=2, **environment):
    """Starts ranks as torchrun does. Returns the last line of each rank's output, parsed as JSON."""
    port = free_port()
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), *map(str, arguments)],
            env={
                **os.environ,
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(ranks),
                "LOCAL_WORLD_SIZE": str(ranks),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    return [answer_of(process) for process in processes]


def answer_of(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    return json.loads(out.splitlines()[-1])
