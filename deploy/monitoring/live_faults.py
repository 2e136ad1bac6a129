"""The faults of live_alerts.py. Each is caused in a cluster and then fixed."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass

from live_cluster import BIN, flip_first_record, stop_process


@dataclass
class Fault:
    name: str
    alerts: list
    cause: Callable  # takes the cluster; returns a function that fixes it
    resolves_within: int = 90  # seconds


def kill_worker(cluster):
    cluster.workers[0].stop(signal.SIGKILL)
    return cluster.workers[0].start


def stop_all_workers(cluster):
    for worker in cluster.workers:
        worker.stop(signal.SIGKILL)
    return lambda: [worker.start() for worker in cluster.workers]


def take_coordinator_away(cluster):
    cluster.coordinator.stop(signal.SIGKILL)
    return cluster.coordinator.start


def remove_file(cluster):
    cluster.submit("gone")
    reader = cluster.read("gone", "--pace", "50")
    shard = sorted((cluster.data / "gone").iterdir())[2]
    away = cluster.work / shard.name
    os.rename(shard, away)

    def fix():
        os.rename(away, shard)
        stop_process(reader)

    return fix


def damage_record(cluster):
    shard = sorted((cluster.data / "damaged").iterdir())[0]
    restore = flip_first_record(shard)
    cluster.submit("damaged", policy="MASK")
    reader = cluster.read("damaged")

    def fix():
        restore()
        stop_process(reader)
        cluster.penstock("submit", str(cluster.job_file("damaged", policy="MASK")), "--replace")
        cluster.penstock("delete", "damaged", check=False)

    return fix


def starve_trainer(cluster):
    cluster.submit("slow")
    reader = cluster.read("slow", "--pace", "20")
    return lambda: stop_process(reader)


def delay_rank(cluster):
    cluster.submit("lag")
    ranks = [cluster.read("lag", "--world-size", "2", "--rank", str(rank), "--pace", pace)
             for rank, pace in ((0, "50"), (1, "400"))]
    return lambda: [stop_process(rank) for rank in ranks]


def fill_disk(cluster):
    filler = cluster.work / "small/filler"
    subprocess.run(["fallocate", "-l", "63M", str(filler)], check=True)
    return filler.unlink


def shorten_certificate(cluster):
    cluster.certificates.sign("worker", 10)
    return lambda: cluster.certificates.sign("worker", 90)


def damage_certificate(cluster):
    (cluster.certificates.folder / "worker.pem").write_text("no certificate\n")
    return lambda: cluster.certificates.sign("worker", 90)


def mix_releases(cluster):
    """Starts a worker with another release number in its program: the same protocols, as in an upgrade."""
    program = (BIN / "penstockd").read_bytes()
    version = subprocess.run([str(BIN / "penstockd"), "--version"], capture_output=True, text=True).stdout.split()[1]
    other = cluster.work / "penstockd-other"
    other.write_bytes(program.replace(version.encode() + b"\0", b"9.9.9\0"))
    other.chmod(0o755)
    cluster.workers[0].stop()
    cluster.workers[0].start(other)

    def fix():
        cluster.workers[0].stop()
        cluster.workers[0].start()

    return fix


def call_without_certificate(cluster):
    ended = threading.Event()

    def call():
        while not ended.is_set():
            cluster.penstock("status", own=False, check=False)
            ended.wait(1)

    thread = threading.Thread(target=call)
    thread.start()

    def fix():
        ended.set()
        thread.join()

    return fix


FAULTS = [
    Fault("killed worker", ["PenstockWorkerLost"], kill_worker),
    Fault("no worker", ["PenstockNoWorker"], stop_all_workers),
    Fault("no coordinator", ["PenstockCoordinatorDown", "PenstockCoordinatorAway"], take_coordinator_away),
    Fault("vanished file", ["PenstockStorageFails", "PenstockFilesGone"], remove_file),
    Fault("damaged record", ["PenstockBadRecords"], damage_record),
    Fault("slow storage", ["PenstockTrainerStarved"], starve_trainer),
    Fault("lagging rank", ["PenstockRankLags"], delay_rank),
    Fault("full disk", ["PenstockDiskFull"], fill_disk),
    Fault("short certificate", ["PenstockCertificateExpires"], shorten_certificate),
    Fault("damaged certificate", ["PenstockCertificateFault"], damage_certificate),
    Fault("mixed releases", ["PenstockReleasesMixed"], mix_releases),
    Fault("rejected calls", ["PenstockCallsRejected"], call_without_certificate, resolves_within=120),
]
