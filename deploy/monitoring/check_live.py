#!/usr/bin/env python3
"""Runs `promtool check metrics` on the metrics of a live coordinator, a live worker and a standalone daemon under load.

check_live.py          needs promtool, openssl and the programs (PENSTOCK_BIN, else build/release/bin)
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from live_cluster import Cluster, wait_until

# Metrics that a daemon of the role must have, with a value above 0, so that idle daemons do not pass.
BUSY = {
    "coordinator": ["penstock_trainer_rows_total", "penstock_job_rows_total"],
    "worker": ["penstock_worker_rows_total", "penstock_worker_sent_bytes_total"],
    "standalone": ["penstock_trainer_rows_total", "penstock_worker_rows_total"],
}
EVERY = ["penstock_build_info", "penstock_tls_certificate_expires_timestamp_seconds"]


def has(text, name):
    values = [line.rsplit(" ", 1)[1] for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name]
    return any(float(value) > 0 for value in values)


def metrics(cluster, daemon):
    """Returns the metrics' text, or "" if the daemon does not answer in time."""
    try:
        return cluster.get(daemon, "/metrics")
    except OSError:
        return ""


def check(cluster, daemon):
    """Returns the faults of the daemon's metrics."""
    names = BUSY[daemon.role] + EVERY

    def missing():
        text = metrics(cluster, daemon)
        return [name for name in names if not has(text, name)]

    try:
        wait_until("metrics", 60, lambda: not missing())
    except TimeoutError:
        return [f"{name} is 0 or missing" for name in missing()]
    text = cluster.get(daemon, "/metrics")
    said = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    print(f"{daemon.name}: {sum(not line.startswith('#') for line in text.splitlines())} series")
    faults = (said.stdout + said.stderr).splitlines()
    return faults or ([f"promtool ended with {said.returncode}"] if said.returncode else [])


def serve(work, roles):
    """Starts daemons of the roles and a trainer, and returns the faults of their metrics."""
    work.mkdir()
    cluster = Cluster(work)
    found = []
    try:
        for role in roles:
            to = ["--coordinator", cluster.coordinator_address] if role == "worker" else []
            cluster.add(role, role, flags=to).start()
        cluster.submit("photos")
        cluster.read("photos", "--pace", "10")
        for daemon in cluster.daemons:
            found += [f"{daemon.name}: {fault}" for fault in check(cluster, daemon)]
    finally:
        cluster.stop()
    return found


def main():
    with tempfile.TemporaryDirectory(prefix="penstock-metrics-") as work:
        found = serve(Path(work) / "fleet", ["coordinator", "worker"]) + serve(Path(work) / "one", ["standalone"])
    print("\n".join(found) or "promtool has no complaint")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
