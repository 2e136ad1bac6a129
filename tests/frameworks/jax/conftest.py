"""Eight devices, which must be said before JAX is imported: run.sh has a process for this folder."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
