"""The number of CPUs that this process may use."""

from __future__ import annotations

import os
from pathlib import Path


def _quota() -> float:
    """Returns the number of CPUs that the control groups allow, or infinity without a limit."""
    least = float("inf")
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return least
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, version = Path("/sys/fs/cgroup"), 2
        elif "cpu" in controllers.split(","):
            folder, version = Path("/sys/fs/cgroup/cpu"), 1
        else:
            continue
        # In a container the path may be the host's. In that case use the root of the mount.
        below = [folder / Path(path.lstrip("/")), folder]
        for place in [below[0], *[p for p in below[0].parents if p.is_relative_to(folder)], below[1]]:
            least = min(least, _limit(place, version))
    return least


def _limit(folder: Path, version: int) -> float:
    try:
        if version == 2:
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        return int(quota) / int(period) if quota not in ("max", "-1") else float("inf")
    except (OSError, ValueError, ZeroDivisionError):
        return float("inf")


def available_cpus() -> int:
    """Returns the number of CPUs on which this process may run, at most the quota of its container, at least 1."""
    allowed = len(os.sched_getaffinity(0))
    quota = _quota()
    return max(1, allowed if quota >= allowed else int(quota))
