"""What this release adds, beside processes of the previous release: errors name the release, and nothing is lost."""

import json
import subprocess

import pytest

from cluster import NEW, OLD, Cluster

LIMITS = "limits { unread_seconds: 5 socket_streams_per_user: 8 }\n"


def names(cluster):
    return [job["name"] for job in json.loads(cluster.command(OLD, "jobs", "--json"))]


def indexes(cluster):
    return sorted(path.relative_to(cluster.folder) for path in cluster.folder.glob("*/indexes/**/*") if path.is_file())


@pytest.mark.parametrize("worker", [OLD, NEW], ids=str)
def test_a_coordinator_of_the_previous_release_does_not_purge(recipe, tmp_path, worker):
    with Cluster(tmp_path / "cluster", recipe.data, OLD, [worker]) as cluster:
        cluster.command(OLD, "submit", recipe.job)
        kept = indexes(cluster)
        assert kept
        reader = cluster.reader(OLD, "train", pace_ms=20)
        for command in ("delete train --running --purge", "pause train", "describe train", "revoke alice"):
            refused = cluster.run(NEW, *command.split())
            assert refused.returncode == 1
            assert f"the coordinator at {cluster.address} is penstock {OLD.version} with protocol 1" in refused.stderr
            assert f"this command is penstock {NEW.version} with protocol " in refused.stderr
            assert "upgrade the coordinator" in refused.stderr
        assert reader.result()["digest"] == recipe.digest
        assert names(cluster) == ["train"]
        assert indexes(cluster) == kept


def test_a_worker_of_the_previous_release_does_not_purge(recipe, tmp_path):
    with Cluster(tmp_path / "cluster", recipe.data, NEW, [OLD, NEW]) as cluster:
        cluster.command(NEW, "submit", recipe.job)
        cluster.command(NEW, "cancel", "train")
        refused = cluster.run(NEW, "delete", "train", "--purge")
        assert refused.returncode == 1
        assert f"worker w0 (penstock {OLD.version} with protocol 1 cannot purge: upgrade it)" in refused.stderr
        assert names(cluster) == ["train"], "the job stays until all workers have purged it"
        cluster.workers[0].replace(NEW)
        assert "deleted and purged: train" in cluster.command(NEW, "delete", "train", "--purge")
        assert names(cluster) == []
        assert indexes(cluster) == []
        cluster.command(NEW, "submit", recipe.job)
        assert cluster.reader(NEW, "train").result()["digest"] == recipe.digest


@pytest.mark.parametrize("role", ["worker", "coordinator"])
def test_the_previous_release_names_the_limits_of_a_newer_file(recipe, tmp_path, role):
    """Such a daemon does not start, so that no limit is lost silently. Its state stays as it is."""
    with Cluster(tmp_path / "cluster", recipe.data, NEW, [NEW, NEW]) as cluster:
        cluster.command(NEW, "submit", recipe.job)
        process = cluster.coordinator if role == "coordinator" else cluster.workers[0]
        config = tmp_path / "limits.textproto"
        config.write_text(LIMITS)
        subprocess.run([NEW.bin / "penstock", "check-config", config], check=True)
        process.arguments += ["--config", str(config)]
        process.replace(NEW)
        process.stop()
        command = [OLD.bin / "penstockd", *process.arguments, "--listen", process.listen]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert refused.returncode == 2
        assert f"{config}:1: limits: there is no field 'limits' here" in refused.stderr
        config.write_text("")
        process.start(OLD)
        assert cluster.reader(NEW, "train").result()["digest"] == recipe.digest
