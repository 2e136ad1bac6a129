"""Coordinator, worker, C++ client and wheel of two releases, in all combinations."""

import itertools

import pytest

from cluster import NEW, OLD, Cluster


@pytest.mark.parametrize(("coordinator", "worker"), list(itertools.product((OLD, NEW), repeat=2)), ids=str)
@pytest.mark.parametrize(("client", "wheel"), list(itertools.product((OLD, NEW), repeat=2)), ids=str)
def test_each_combination_reads_the_same_rows(recipe, tmp_path, coordinator, worker, client, wheel):
    with Cluster(tmp_path / "cluster", recipe.data, coordinator, [worker]) as cluster:
        cluster.command(client, "submit", recipe.job)
        readers = [cluster.reader(client, "train"), cluster.wheel(wheel, "train")]
        assert [reader.result()["digest"] for reader in readers] == [recipe.digest, recipe.wheel_digest]
        status = cluster.status(client)
        assert [job["state"] for job in status["jobs"]] == ["READY"]
        for command in ("jobs", "workers", "shards train", "quarantine train", "status"):
            assert cluster.command(client, *command.split())
        (name,) = [worker["name"] for worker in status["workers"]]
        cluster.command(client, "drain", name)
        cluster.command(client, "cancel", "train")


def test_status_names_the_releases_of_a_mixed_cluster(recipe, tmp_path):
    with Cluster(tmp_path / "cluster", recipe.data, NEW, [OLD, NEW]) as cluster:
        assert OLD.version != NEW.version, "give this tree its own version"
        text = cluster.command(NEW, "status")
        assert f"worker w0: penstock {OLD.version}, protocol " in text
        assert "worker w1: penstock" not in text
