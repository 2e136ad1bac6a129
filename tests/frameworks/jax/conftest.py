"""Sets up eight devices before JAX is imported: run.sh starts a process for this folder."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
