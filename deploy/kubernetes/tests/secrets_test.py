"""Secrets reach the pods only by reference, and with modes that the daemons accept."""

import json
import re

import pytest
from chart import example, of_kind, rejection, render, workload, workloads

SECRET_VARIABLE = re.compile(r"(SECRET|_KEY|TOKEN|PASSWORD|CONNECTION_STRING|AUTHORIZATION)$")
TOKEN = re.compile(r"pst_[A-Za-z0-9_-]{20}")


def test_the_chart_makes_no_secret(objects):
    assert not of_kind(objects, "Secret")
    assert not TOKEN.search(json.dumps(objects))


def test_variables_with_secrets_come_from_secrets(both):
    for each in both:
        for variable in each.container["env"]:
            if SECRET_VARIABLE.search(variable["name"]) and not variable["name"].startswith("PENSTOCK_TLS_"):
                assert "secretKeyRef" in variable["valueFrom"], variable["name"]


@pytest.mark.parametrize("flag", ["tls-key", "tokens", "token-file"])
def test_files_with_secrets_are_private_and_follow_the_secret(flag):
    for each in workloads(render(example("production"))):
        path = each.flag(flag)
        if flag == "token-file" and each.role == "coordinator":
            assert path is None
            continue
        mount = each.mount_of(path)
        assert "subPath" not in mount, "kubelet does not update it"
        kind, settings = each.volume(mount["name"])
        assert kind == "secret"
        assert settings["defaultMode"] & 0o007 == 0, "penstockd rejects files that other users can read"
        assert settings["defaultMode"] & 0o040, "the pod's group must read it"
        assert each.pod["securityContext"]["fsGroup"] == each.pod["securityContext"]["runAsGroup"] == 7070


def test_keys_of_storage_reach_only_workers():
    objects = render(example("production"))
    names = {each.role: {variable["name"] for variable in each.container["env"]} for each in workloads(objects)}
    assert {"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= names["worker"]
    assert not any(name.startswith("AWS") for name in names["coordinator"])


def test_files_of_storage_are_where_the_variables_name_them():
    worker = workload(render(example("ipv6-closed")), "worker")
    (path,) = (each["value"] for each in worker.container["env"] if each["name"] == "AWS_SHARED_CREDENTIALS_FILE")
    assert worker.volume(worker.mount_of(path)["name"])[0] == "secret"


@pytest.mark.parametrize("name", [
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "PENSTOCK_HTTP_AUTHORIZATION"
])
def test_a_secret_in_plain_values_is_rejected(name):
    assert name in rejection(example("plaintext"), "--set", f"storage.env.{name}=x")
