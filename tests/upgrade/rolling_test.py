"""Upgrades and downgrades of a cluster while trainers read from it."""

import time

from cluster import EPOCHS, NEW, OLD, Cluster, Release

LONGEST_WAIT_SECONDS = 2
PACE_MS = 200  # for steps of 8 rows: few, so that a busy machine makes them in time
STEPS = EPOCHS * 200  # at this pace the readers outlast the upgrade and the return


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited too long: {what}"
        time.sleep(0.05)


def replace_all(cluster: Cluster, release: Release):
    """Replaces coordinator and workers, one by one, and waits until the cluster is whole after each."""
    cluster.coordinator.replace(release)
    for worker in cluster.workers:
        worker.replace(release)
        wait_for(lambda name=worker.name: is_whole(cluster, release, name), f"{worker.name} of {release.version}")


def is_whole(cluster: Cluster, release: Release, name: str):
    """Whether all workers are live, and the named one is of the release and owns records."""
    live = {worker["name"]: worker for worker in cluster.status()["workers"] if worker["state"] == "LIVE"}
    if len(live) < len(cluster.workers) or live[name]["version"] != release.version:
        return False
    return int(live[name].get("owned_records", 0)) > 0


def test_trainers_read_on_through_an_upgrade_and_back(recipe, tmp_path):
    with Cluster(tmp_path / "cluster", recipe.data, OLD, [OLD, OLD]) as cluster:
        cluster.command(OLD, "submit", recipe.job)
        progress = tmp_path / "steps"
        readers = [cluster.reader(OLD, "train", PACE_MS), cluster.wheel(OLD, "train", PACE_MS, progress)]
        wait_for(progress.exists, "the first step")
        replace_all(cluster, NEW)
        assert int(progress.read_text()) < STEPS, "the readers ended before the upgrade did"
        # A job of the new release is still there after the return.
        later = tmp_path / "later.textproto"
        later.write_text(recipe.job.read_text().replace('"train"', '"later"'))
        cluster.command(NEW, "submit", later)
        replace_all(cluster, OLD)
        steps = int(progress.read_text())
        results = [reader.result() for reader in readers]
        assert [result["digest"] for result in results] == [recipe.digest, recipe.wheel_digest]
        assert steps < STEPS, "the readers ended before the return did"
        waits = [result["longest_wait_seconds"] for result in results]
        print(f"longest waits: {waits[0]:.2f} s (C++), {waits[1]:.2f} s (Python)")
        assert max(waits) <= LONGEST_WAIT_SECONDS
        assert cluster.reader(OLD, "later").result()["digest"] == recipe.digest
