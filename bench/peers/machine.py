"""Prints one line about the machine: its CPUs, memory and system, and its load by other processes. Standard library only."""

import os
import platform
import re
from pathlib import Path


def main():
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", info, re.MULTILINE)
    kib = int(re.search(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE).group(1))
    cpus = len(os.sched_getaffinity(0))
    virtual = "virtual machine, " if re.search(r"^flags.*\bhypervisor\b", info, re.MULTILINE) else ""
    print(
        f"Machine: {virtual}{cpus} CPUs ({model.group(1) if model else platform.machine()}), {kib / 2**20:.0f} GiB, "
        f"Linux {platform.release().split('-')[0]}; load before: {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
