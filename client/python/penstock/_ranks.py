"""The rank of this process among the trainers."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from typing import Any, Mapping, NamedTuple, Optional

from ._arguments import check_number
from ._errors import ConfigurationError
from ._tracebacks import public


class Place(NamedTuple):
    """A rank and its source. `local_world` is the known number of ranks on this host, at least 1."""

    rank: int
    world_size: int
    source: str
    local_world: int


@public
def find_place(
    rank: Optional[int], world_size: Optional[int], environment: Optional[Mapping[str, str]] = None
) -> Place:
    """Returns the rank from the arguments, otherwise from the first of these:

    1. `torch.distributed`, if it is initialized
    2. `RANK` and `WORLD_SIZE` (torchrun, Lightning, Accelerate)
    3. JAX, if it is imported and `jax.distributed` is initialized
    4. `TF_CONFIG`: chief and workers, in this order
    5. `SLURM_PROCID` and `SLURM_STEP_NUM_TASKS` (or `SLURM_NTASKS`), inside `srun`
    6. rank 0 of 1
    """
    env = os.environ if environment is None else environment
    if (rank is None) != (world_size is None):
        raise ConfigurationError(f"rank={rank}, world_size={world_size}: give both, or none of them")
    if rank is not None and world_size is not None:
        check_number("rank", rank)
        check_number("world_size", world_size)
        return _checked(rank, world_size, "the arguments", env)
    found = _torch(env) or _variables(env, "RANK", "WORLD_SIZE") or _jax(env) or _tf_config(env) or _slurm(env)
    return found or Place(0, 1, "the default", 1)


def _checked(rank: int, world_size: int, source: str, env: Mapping[str, str]) -> Place:
    if world_size < 1 or not 0 <= rank < world_size:
        raise ConfigurationError(f"rank {rank} of {world_size} ({source}): ranks are 0 to world_size - 1")
    return Place(rank, world_size, source, min(world_size, _local_world(world_size, env)))


def _variables(env: Mapping[str, str], rank: str, world_size: str) -> Optional[Place]:
    if rank not in env or world_size not in env:
        return None
    try:
        values = int(env[rank]), int(env[world_size])
    except ValueError:
        raise ConfigurationError(
            f"{rank}={env[rank]!r} and {world_size}={env[world_size]!r} must be numbers: correct them, "
            "or give rank= and world_size="
        ) from None
    return _checked(*values, f"{rank} and {world_size}", env)


def _torch(env: Mapping[str, str]) -> Optional[Place]:
    module: Any = sys.modules.get("torch.distributed")
    if module is None or not module.is_available() or not module.is_initialized():
        return None
    return _checked(module.get_rank(), module.get_world_size(), "torch.distributed", env)


def _jax(env: Mapping[str, str]) -> Optional[Place]:
    # Never use only jax.process_count(): it starts JAX's backends.
    if "jax" not in sys.modules:
        return None
    state: Any = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    if getattr(state, "client", None) is None:
        return None
    return _checked(int(state.process_id), int(state.num_processes), "jax.distributed", env)


def _tf_config(env: Mapping[str, str]) -> Optional[Place]:
    text = env.get("TF_CONFIG")
    if not text:
        return None
    try:
        config = json.loads(text)
        cluster, task = config.get("cluster") or {}, config.get("task") or {}
        kind, index = task.get("type"), int(task.get("index", 0))
        chiefs = len(cluster.get("chief", cluster.get("master", [])))
        workers = len(cluster.get("worker", []))
    except (ValueError, TypeError, AttributeError):
        raise ConfigurationError(
            f"TF_CONFIG={text!r} is not in TensorFlow's format: correct it, or give rank= and world_size="
        ) from None
    if kind in ("chief", "master"):
        return _checked(index, chiefs + workers, "TF_CONFIG", env)
    if kind == "worker":
        return _checked(chiefs + index, chiefs + workers, "TF_CONFIG", env)
    return None  # an evaluator, a parameter server or a coordinator reads alone


def _slurm(env: Mapping[str, str]) -> Optional[Place]:
    if "SLURM_STEP_NUM_TASKS" in env:
        return _variables(env, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
    # A batch script without srun also has these two variables, but is one process.
    if "SLURM_STEP_ID" in env or "SLURM_STEPID" in env:
        return _variables(env, "SLURM_PROCID", "SLURM_NTASKS")
    return None


def _local_world(world_size: int, env: Mapping[str, str]) -> int:
    for name in ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"):
        if env.get(name, "").isdigit():
            return max(1, int(env[name]))
    tasks = re.match(r"\d+", env.get("SLURM_STEP_TASKS_PER_NODE", ""))
    if tasks:
        return max(1, int(tasks.group()))
    hosts = _tf_hosts(env)
    if hosts:
        return hosts
    # torch.multiprocessing and similar launchers: all ranks are on the host of the first one.
    if env.get("MASTER_ADDR") in ("localhost", "127.0.0.1", "::1", socket.gethostname()):
        return world_size
    return 1


def _tf_hosts(env: Mapping[str, str]) -> int:
    """Returns the number of chiefs and workers of TF_CONFIG on the host of this task, or 0 if it is not set."""
    try:
        config = json.loads(env.get("TF_CONFIG", ""))
        cluster, task = config["cluster"], config["task"]
        hosts = [address.rsplit(":", 1)[0] for kind in ("chief", "master", "worker") for address in cluster.get(kind, [])]
        mine = cluster[task["type"]][int(task["index"])].rsplit(":", 1)[0]
        return hosts.count(mine)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return 0
