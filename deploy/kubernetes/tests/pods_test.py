"""Pods run under the Pod Security level `restricted`, drain in time, and have all that their command lines name."""

import re

import pytest
from chart import config, example, of_kind, render, selects, workload, workloads

# Volumes that the level `restricted` permits.
PERMITTED_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
# A daemon ends within 5 s after its drain, plus 2 s for its last message (docs/operations.md).
END_SECONDS = 7
STABLE_LABELS = {f"app.kubernetes.io/{name}" for name in ("name", "instance", "component")}


def test_containers_are_restricted(both):
    for each in both:
        assert "initContainers" not in each.pod
        assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers"} & set(each.pod)
        assert each.pod["securityContext"]["runAsNonRoot"] is True
        assert each.pod["securityContext"]["runAsUser"] == 7070
        assert each.pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        context = each.container["securityContext"]
        assert context == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert all("hostPort" not in port for port in each.container["ports"])
        assert each.pod["automountServiceAccountToken"] is False


def test_only_the_opt_in_mounts_a_folder_of_the_node(values, both):
    for each in both:
        kinds = {kind for volume in each.pod["volumes"] for kind in volume if kind != "name"}
        forbidden = kinds - PERMITTED_VOLUMES
        assert forbidden == ({"hostPath"} if values.stem == "shared-memory" and each.role == "worker" else set())


def test_the_grace_period_exceeds_the_drain(objects):
    drain = int(re.search(r"drain_timeout_ms: (\d+)", config(objects, "worker"))[1]) / 1000
    assert workload(objects, "worker").pod["terminationGracePeriodSeconds"] > drain + END_SECONDS
    assert workload(objects, "coordinator").pod["terminationGracePeriodSeconds"] > END_SECONDS


def test_probes_use_http_with_the_scheme_of_the_port(both):
    for each in both:
        ports = {port["name"]: port["containerPort"] for port in each.container["ports"]}
        assert each.flag("http").rsplit(":", 1)[1] == str(ports["http"])
        assert each.flag("listen").rsplit(":", 1)[1] == str(ports["grpc"])
        scheme = "HTTPS" if each.flag("tls-cert") else "HTTP"
        for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            assert each.container[probe]["httpGet"] == {"path": path, "port": "http", "scheme": scheme}
            assert each.container[probe]["timeoutSeconds"] >= 2


def test_plaintext_is_explicit(both):
    for each in both:
        assert (each.flag("insecure") is None) == (each.flag("tls-cert") is not None)


def test_each_path_of_a_command_line_is_mounted(both):
    for each in both:
        flags = ["config", "state-dir", "tls-cert", "tls-key", "tls-ca", "tokens", "token-file", "disk-cache", "socket-dir"]
        paths = [(name, each.flag(name)) for name in flags if each.flag(name)]
        paths += [("data-root", path) for path in re.findall(r"--data-root=[^=]+=(/\S+)", " ".join(each.arguments))]
        for name, path in paths:
            mount = each.mount_of(path)
            assert mount, f"{each.role} --{name}={path}"
            assert mount.get("readOnly", False) == (name not in ("state-dir", "disk-cache", "socket-dir"))
        # A root folder of the volume contains lost+found, which a disk cache does not accept.
        assert each.mount_of(each.flag("state-dir"))["mountPath"] != each.flag("state-dir")
        if each.flag("disk-cache"):
            assert each.mount_of(each.flag("disk-cache"))["mountPath"] != each.flag("disk-cache")


def test_volumes_and_mounts_belong_together(both):
    for each in both:
        claims = [claim["metadata"]["name"] for claim in each.spec.get("volumeClaimTemplates", [])]
        volumes = sorted([*claims, *(volume["name"] for volume in each.pod["volumes"])])
        assert volumes == sorted(mount["name"] for mount in each.container["volumeMounts"])


def test_memory_and_cpu_are_limited(both):
    for each in both:
        assert {"cpu", "memory"} <= set(each.container["resources"]["limits"])
        assert {"cpu", "memory"} <= set(each.container["resources"]["requests"])
        for volume in each.pod["volumes"]:
            assert "emptyDir" not in volume or "sizeLimit" in volume["emptyDir"]


def test_there_is_one_coordinator_with_a_volume(objects):
    coordinator = workload(objects, "coordinator")
    assert coordinator.object["kind"] == "StatefulSet"
    assert coordinator.spec["replicas"] == 1
    kind, claim = coordinator.volume(coordinator.mount_of(coordinator.flag("state-dir"))["name"])
    assert (kind, claim["accessModes"]) == ("persistentVolumeClaim", ["ReadWriteOnce"])
    assert "persistentVolumeClaimRetentionPolicy" not in coordinator.spec, "the default retains jobs"


@pytest.mark.parametrize(("name", "kind"), [("plaintext", "Deployment"), ("disk-cache", "StatefulSet")])
def test_workers_with_disks_are_a_stateful_set(name, kind):
    worker = workload(render(example(name)), "worker")
    assert worker.object["kind"] == kind
    assert (worker.flag("disk-cache") is not None) == (kind == "StatefulSet")
    assert worker.volume("state")[0] == ("persistentVolumeClaim" if kind == "StatefulSet" else "emptyDir")


def test_selectors_match_exactly_their_pods(objects):
    for each in workloads(objects):
        assert selects(each.spec["selector"], each.labels)
        # Kubernetes does not change the selector of a workload, so it has no version.
        assert set(each.spec["selector"]["matchLabels"]) == STABLE_LABELS
    for found in of_kind(objects, "PodDisruptionBudget"):
        assert set(found["spec"]["selector"]["matchLabels"]) == STABLE_LABELS
        matched = [each.role for each in workloads(objects) if selects(found["spec"]["selector"], each.labels)]
        assert matched == ["worker"]
    for found in of_kind(objects, "Service"):
        matched = [each for each in workloads(objects) if selects({"matchLabels": found["spec"]["selector"]}, each.labels)]
        assert [each.role for each in matched] == [found["metadata"]["labels"]["app.kubernetes.io/component"]]
        ports = {port["name"] for port in matched[0].container["ports"]}
        assert {port["targetPort"] for port in found["spec"]["ports"]} <= ports
    worker = workload(objects, "worker")
    (spread,) = worker.pod["topologySpreadConstraints"]
    assert selects(spread["labelSelector"], worker.labels)
    assert not selects(spread["labelSelector"], workload(objects, "coordinator").labels)


def test_a_changed_configuration_restarts_only_its_role():
    def digests(*arguments):
        return {each.role: each.spec["template"]["metadata"]["annotations"] for each in workloads(render(*arguments))}

    before = digests(example("plaintext"))
    after = digests(example("plaintext"), "--set", "worker.maxSessions=300")
    assert before["worker"] != after["worker"]
    assert before["coordinator"] == after["coordinator"]


def test_objects_have_distinct_names(objects):
    names = [(found["kind"], found["metadata"]["name"]) for found in objects]
    assert len(names) == len(set(names))
    assert all(found["metadata"]["namespace"] == "data" for found in objects)
