#!/usr/bin/env python3
"""Causes faults in a real cluster. Checks that the alert of each fault reaches a webhook within 60 s and resolves after the fix, that
minutes without a fault raise no alert, and that each query of the dashboard returns data. Takes about 30 minutes.

live_alerts.py [--quiet MINUTES] [--only NAME,...] [--list]

Needs prometheus and prometheus-alertmanager (Debian's packages; their services are not needed), openssl, root for a tmpfs,
and the programs (PENSTOCK_BIN, else build/release/bin) with slow_files (PENSTOCK_SLOW_FILES, else below build/release).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import check_rules
from live_cluster import ROOT, Cluster
from live_faults import FAULTS
from live_prometheus import Monitoring

# Panels without data in this cluster, by a part of their query.
WITHOUT_DATA = {
    "cpu_throttled": "the daemons have no CPU quota",
    "penstock_worker_remote": "the data are on a local disk",
}


def start(cluster, slow_files):
    """Starts a coordinator, whose state is on a small tmpfs, two workers, and the trainer of the job photos."""
    state = cluster.work / "small"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(state)], check=True)
    for name in ("gone", "damaged", "slow", "lag"):
        cluster.copy_data(name)
    cluster.coordinator = cluster.add("coordinator", "coordinator", state=state / "coordinator")
    cluster.coordinator.start()
    slow = {"LD_PRELOAD": str(slow_files), "PENSTOCK_TEST_SLOW_FOLDER": str(cluster.data / "slow"),
            "PENSTOCK_TEST_SLOW_MS": "400"}
    for name in ("w1", "w2"):
        flags = ["--coordinator", cluster.coordinator_address, "--tls-name", "worker.penstock"]
        cluster.add(name, "worker", flags=flags, environment=slow).start()
    cluster.workers = cluster.daemons[1:]
    cluster.submit("photos")
    cluster.trainer = cluster.read("photos", "--pace", "200")


def run_fault(fault, cluster, monitoring):
    """Returns whether each of the fault's alerts fired in time and resolved."""
    begin = time.monotonic()
    fix = fault.cause(cluster)
    caused = time.monotonic()
    good = True
    for alert in fault.alerts:
        fired = monitoring.webhook.wait("firing", alert, begin, caused + 60)
        summary = fired.annotations["summary"] if fired else "NO ALERT within 60 s"
        print(f"{fault.name}: {alert}: " + (f"{fired.time - caused:.0f} s: " if fired else "") + summary, flush=True)
        good = good and fired is not None
    fix()
    fixed = time.monotonic()
    for alert in fault.alerts if good else []:
        resolved = monitoring.webhook.wait("resolved", alert, begin, fixed + fault.resolves_within)
        print(f"{fault.name}: {alert}: " + (f"resolved {resolved.time - fixed:.0f} s after the fix" if resolved else
                                            f"NOT RESOLVED within {fault.resolves_within} s"), flush=True)
        good = good and resolved is not None
    others = sorted(monitoring.webhook.fired_since(begin) - set(fault.alerts))
    if others:
        print(f"{fault.name}: also {', '.join(others)}", flush=True)
    monitoring.wait_for_no_alert(180)
    return good


def be_quiet(minutes, monitoring):
    """Returns whether no alert fires for `minutes`."""
    monitoring.wait_for_no_alert(180)
    begin = time.monotonic()
    time.sleep(60 * minutes)
    fired = monitoring.webhook.fired_since(begin)
    print(f"quiet: {minutes:g} minutes: {', '.join(sorted(fired)) or 'no alert'}", flush=True)
    return not fired


class Dashboard:
    """Asks the queries of the dashboard every 10 s, until each has returned data. Some need a fault."""

    def __init__(self, monitoring):
        self.monitoring = monitoring
        self.left = check_rules.titled_queries()
        self.all = len(self.left)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        while not self.ended.wait(10):
            try:
                self.left = [panel for panel in self.left if not self.monitoring.query(panel[1])]
            except OSError as error:
                print(f"dashboard: {error}", flush=True)

    def stop(self):
        """Returns whether each query has returned data, without those of WITHOUT_DATA."""
        self.ended.set()
        self.thread.join()
        good = True
        for title, query in self.left:
            reason = next((why for part, why in WITHOUT_DATA.items() if part in query), None)
            good = good and reason is not None
            print(f"dashboard: {title}: {query}: no data: {reason or 'NOT EXPECTED'}", flush=True)
        print(f"dashboard: {self.all - len(self.left)} of {self.all} queries returned data", flush=True)
        return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quiet", type=float, default=10, metavar="MINUTES")
    parser.add_argument("--only", default="", metavar="NAME,...")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(f"{fault.name}: {', '.join(fault.alerts)}" for fault in FAULTS))
        return 0
    only = set(filter(None, arguments.only.split(",")))
    slow_files = os.environ.get("PENSTOCK_SLOW_FILES") or next((ROOT / "build/release").rglob("*slow_files*.so"))
    failed = []
    with tempfile.TemporaryDirectory(prefix="penstock-alerts-") as folder:
        work = Path(folder)
        cluster = Cluster(work)
        monitoring = dashboard = None
        try:
            start(cluster, slow_files)
            monitoring = Monitoring(work, cluster)
            dashboard = Dashboard(monitoring)
            failed += [] if be_quiet(arguments.quiet, monitoring) else ["quiet"]
            for fault in FAULTS:
                if not only or fault.name in only:
                    failed += [] if run_fault(fault, cluster, monitoring) else [fault.name]
            failed += [] if dashboard.stop() else ["dashboard"]
        finally:
            if dashboard is not None:
                dashboard.ended.set()
            if monitoring is not None:
                monitoring.stop()
            cluster.stop()
            subprocess.run(["umount", str(work / "small")], check=False)
    print(f"FAILED: {', '.join(failed)}" if failed else "all alerts fired and resolved")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
