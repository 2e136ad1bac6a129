"""Prometheus finds the metrics, and autoscalers scale the workers by the documented metric."""

import re

import pytest
import yaml
from chart import ROOT, example, of_kind, render, selects, workload, workloads

PAGE = (ROOT / "docs/kubernetes.md").read_text()


def test_the_rules_are_those_of_deploy_monitoring():
    (found,) = of_kind(render(example("production")), "PrometheusRule")
    assert found["spec"] == yaml.safe_load((ROOT / "deploy/monitoring/alerts.yml").read_text())
    assert found["metadata"]["labels"]["release"] == "prometheus"


@pytest.mark.parametrize("name", ["production", "autoscaling-hpa", "autoscaling-keda"])
def test_monitors_read_the_http_port_of_each_role(name):
    objects = render(example(name))
    services = {found["metadata"]["name"]: found for found in of_kind(objects, "Service")}
    for each in workloads(objects):
        (monitor,) = (found for found in of_kind(objects, "ServiceMonitor") if found["metadata"]["name"].endswith(each.role))
        matched = [key for key, found in services.items() if selects(monitor["spec"]["selector"], found["metadata"]["labels"])]
        assert matched == [each.object["metadata"]["name"]]
        (endpoint,) = monitor["spec"]["endpoints"]
        assert endpoint["port"] in {port["name"] for port in services[matched[0]]["spec"]["ports"]}
        assert endpoint["honorLabels"] is True
        assert endpoint["interval"] == "5s"
        assert endpoint["scheme"] == "https"
        secret = each.volume(each.mount_of(each.flag("tls-ca"))["name"])[1]["secretName"]
        assert endpoint["tlsConfig"]["ca"]["secret"] == {"name": secret, "key": "ca.crt"}
        assert ("authorization" in endpoint) == (each.flag("tokens") is not None)


def test_a_monitor_without_tls_uses_http():
    settings = "monitoring.serviceMonitor.enabled=true,networkPolicy.monitoring[0].podSelector.matchLabels.app=prometheus"
    for found in of_kind(render(example("plaintext"), "--set", settings), "ServiceMonitor"):
        (endpoint,) = found["spec"]["endpoints"]
        assert endpoint["scheme"] == "http"
        assert "tlsConfig" not in endpoint


SCALERS = [("autoscaling-hpa", "HorizontalPodAutoscaler"), ("autoscaling-keda", "ScaledObject")]


@pytest.mark.parametrize(("name", "kind"), SCALERS)
def test_the_autoscaler_sets_the_number_of_workers(name, kind):
    objects = render(example(name))
    (scaler,) = of_kind(objects, kind)
    worker = workload(objects, "worker")
    target = scaler["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == (worker.object["kind"], worker.object["metadata"]["name"])
    assert "replicas" not in worker.spec, "helm upgrade would reset the number"
    metrics = set(re.findall(r"^\| `(penstock_\w+)`", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
    named = set(re.findall(r"penstock_\w+", str(scaler["spec"])))
    assert named == {"penstock_workers_wanted"} & metrics


def test_each_worker_counts_for_one():
    (hpa,) = of_kind(render(example("autoscaling-hpa")), "HorizontalPodAutoscaler")
    (metric,) = hpa["spec"]["metrics"]
    assert metric["external"]["target"] == {"type": "AverageValue", "averageValue": "1"}
    (scaled,) = of_kind(render(example("autoscaling-keda")), "ScaledObject")
    (trigger,) = scaled["spec"]["triggers"]
    assert (trigger["metricType"], trigger["metadata"]["threshold"]) == ("AverageValue", "1")


@pytest.mark.parametrize(("name", "kind"), SCALERS)
def test_the_autoscaler_selects_the_coordinator_of_its_release(name, kind):
    objects = render(example(name))
    (scaler,) = of_kind(objects, kind)
    # Prometheus gives the metric the name of the Service as a label.
    (service,) = re.findall(r"(?:'service': '|service=\")([^'\"]+)", str(scaler["spec"]))
    assert service == workload(objects, "coordinator").spec["serviceName"]


def test_the_recipe_of_the_page_has_the_metric_and_its_labels():
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    (adapter,) = (block["rules"]["external"] for block in blocks if "rules" in block)
    assert [rule["seriesQuery"] for rule in adapter] == ["penstock_workers_wanted"]
    assert adapter[0]["resources"] == {"overrides": {"namespace": {"resource": "namespace"}}}
