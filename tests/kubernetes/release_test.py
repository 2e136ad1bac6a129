"""The chart in a namespace of the level `restricted`: each change leaves the digest of readers as it is."""

import ssl

import pytest

from api import CORE, ApiError
from cluster import IMAGE
from control_plane import NODES
from waiting import eventually


def test_installs_under_restricted(cluster, release):
    for role, number in (("coordinator", 1), ("worker", 2)):
        pods = release.ready(role)
        assert len(pods) == number
        for pod in pods:
            status = cluster.running(pod).run.process_file("status")
            assert "Uid:\t7070\t7070" in status
            assert "CapBnd:\t0000000000000000" in status
            assert "NoNewPrivs:\t1" in status
    container = {"name": "root", "image": IMAGE.name}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "root"}, "spec": {"containers": [container]}}
    with pytest.raises(ApiError, match='violates PodSecurity \\\\"restricted'):
        release.api.create(f"{CORE}/namespaces/{release.namespace}/pods", pod)


def test_an_operator_calls_from_the_pod_of_the_coordinator(cluster, release):
    """As docs/kubernetes.md shows: the image has no shell, and the token comes by standard input."""
    (pod,) = release.ready("coordinator")
    token = (release.folder / "operator.token").read_text()
    done = cluster.running(pod).run.exec("penstock", "status", "--token-file", "/dev/stdin", text=token)
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout


def test_reads(release):
    assert release.result(release.trainer("--epochs", "2")) == release.data.digest


def test_a_worker_pod_is_deleted(cluster, release):
    def delete():
        pod = release.ready("worker")[0]
        release.delete(pod)
        return pod

    pod = release.read_during(delete, lambda _: len(release.ready("worker")) == 2)
    record = cluster.ended(pod)
    assert record.exit_code() == 0  # drained within its grace period
    assert record.end_seconds < record.object["spec"]["terminationGracePeriodSeconds"]


def test_an_upgrade_replaces_all_pods(release):
    before = {pod["metadata"]["uid"] for role in ("coordinator", "worker") for pod in release.pods(role)}
    release.read_during(lambda: release.helm("upgrade", log={"level": "debug"}), lambda _: True)
    pods = [pod for role in ("coordinator", "worker") for pod in release.ready(role)]
    assert len(pods) == 3
    assert not before & {pod["metadata"]["uid"] for pod in pods}
    assert all("--log-level=debug" in pod["spec"]["containers"][0]["args"] for pod in pods)


def test_the_coordinator_moves_with_its_volume(release):
    (before,) = release.ready("coordinator")
    node = before["spec"]["nodeName"]

    def set_schedulable(value):
        release.api.patch(f"{CORE}/nodes/{node}", {"spec": {"unschedulable": not value}})

    def move():
        set_schedulable(False)
        release.delete(before)

    def moved(_):
        return any(pod["metadata"]["uid"] != before["metadata"]["uid"] for pod in release.ready("coordinator"))

    release.read_during(move, moved)
    (after,) = release.ready("coordinator")
    assert after["spec"]["nodeName"] == next(name for name in NODES if name != node)
    assert "demo" in release.penstock("operator", "status")
    set_schedulable(True)


@pytest.mark.parametrize(("role", "port"), [("coordinator", 7070), ("worker", 7071)])
def test_a_certificate_is_rotated(release, role, port):
    addresses = [pod["status"]["podIP"] for pod in release.ready(role)]

    def served(certificate):
        der = ssl.PEM_cert_to_DER_cert(certificate)
        return all(ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((each, port))) == der for each in addresses)

    certificate = release.read_during(lambda: release.rotate(role), served)
    eventually("the new certificate", lambda: served(certificate))
    assert [pod["status"]["podIP"] for pod in release.ready(role)] == addresses
    assert all(each["restartCount"] == 0 for pod in release.pods(role) for each in pod["status"]["containerStatuses"])
