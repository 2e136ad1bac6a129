"""Misspelled values, and values that contradict each other, are rejected by name. No value is without effect."""

import json
import re

import pytest
import yaml
from chart import CHART, example, rejection

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def paths(values, path=()):
    """Yields the path of each object and each value."""
    yield path
    if isinstance(values, dict):
        for key, value in values.items():
            yield from paths(value, (*path, key))


def schema_of(path):
    found = SCHEMA
    for key in path:
        found = found["properties"][key]
        if "$ref" in found:
            found = SCHEMA["definitions"][found["$ref"].rsplit("/", 1)[1]]
    return found


# Objects whose names the chart defines; those of labels and annotations are the user's.
OBJECTS = [path for path in paths(VALUES) if schema_of(path).get("additionalProperties") is False]


def schemas(schema):
    """Yields each part of a schema."""
    if isinstance(schema, dict):
        yield schema
        for part in schema.values():
            yield from schemas(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from schemas(part)


def test_the_schema_closes_each_object():
    for schema in schemas(SCHEMA):
        if "properties" in schema and isinstance(schema["properties"], dict) and schema.get("type") == "object":
            assert schema.get("additionalProperties") is False, list(schema["properties"])


def test_schema_and_values_have_the_same_names():
    for path in OBJECTS:
        found = VALUES
        for key in path:
            found = found[key]
        names = set(schema_of(path)["properties"]) - {"global", "ephemeral-storage"}
        assert names == set(found), ".".join(path)


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: ".".join(path) or "top")
def test_a_misspelled_value_is_rejected_by_name(path):
    assert "'mispelled'" in rejection(example("plaintext"), "--set", ".".join([*path, "mispelled"]) + "=1")


def test_each_value_has_a_use():
    templates = "".join(file.read_text() for file in CHART.rglob("templates/**/*") if file.is_file())
    whole = {"resources", "requests", "limits", "annotations"}  # rendered as a whole, or under the name of their parent
    for path in paths(VALUES):
        if path and not whole & set(path[:-1]):
            assert re.search(rf"\.{path[-1]}\b", templates), ".".join(path)


@pytest.mark.parametrize(("name", "setting", "message"), [
    ("plaintext", "image.repository=", "image.repository is missing"),
    ("plaintext", "tls.source=", "tls.source is missing"),
    ("plaintext", "dataRoots=null", "dataRoots is empty"),
    ("plaintext", "dataRoots[0].claim=x", "'imagenet' needs exactly one of url, claim and hostPath"),
    ("plaintext", "dataRoots[1].name=coco", "'coco' needs exactly one of url, claim and hostPath"),
    ("plaintext", "dataRoots[0].subPath=x", "subPath of 'imagenet' needs a claim"),
    ("production", "dataRoots[1].name=imagenet", "two are named 'imagenet'"),
    ("tls-secrets", "tls.workerSecret=", "tls.coordinatorSecret and tls.workerSecret"),
    ("plaintext", "tls.workerSecret=x", "need tls.source: secrets"),
    ("production", "tls.certManager.issuer.name=", "tls.certManager.issuer.name"),
    ("plaintext", "auth.tokensSecret=x,auth.workerTokenSecret=y", "auth.tokensSecret needs TLS"),
    ("production", "auth.workerTokenSecret=", "set both"),
    ("production", "monitoring.serviceMonitor.tokenSecret=", "monitoring.serviceMonitor.tokenSecret is missing"),
    ("production", "networkPolicy.monitoring=null", "networkPolicy.monitoring is empty"),
    ("plaintext", "worker.sharedMemory.enabled=true,worker.sharedMemory.users=any", "sharedMemory.users: any needs auth"),
    ("autoscaling-hpa", "autoscaling.minReplicas=40", "autoscaling.minReplicas is more than"),
    ("autoscaling-keda", "autoscaling.keda.serverAddress=", "autoscaling.keda.serverAddress is missing"),
    ("plaintext", "worker.memoryBudget=12 gigabytes", "/worker/memoryBudget"),
    ("plaintext", "worker.drainSeconds=0", "/worker/drainSeconds"),
    ("plaintext", "tls.source=certmanager", "/tls/source"),
    ("plaintext", "dataRoots[0].url=s3://user@bucket/x", "/dataRoots/0/url"),
    ("plaintext", "dataRoots[0].name=a=b", "/dataRoots/0/name"),
    ("plaintext", "coordinator.extraArgs[0]=pst_token", "/coordinator/extraArgs/0"),
])
def test_a_contradiction_is_rejected(name, setting, message):
    assert message in rejection(example(name), "--set", setting)
