"""helm and each release of Kubernetes accept the examples."""

import re

import kubernetes_validate
import pytest
from chart import CHART, EXAMPLES, OLDEST, RELEASES, ROOT, example, helm, rejection, render

# Kinds of operators, whose definitions are not part of Kubernetes.
OF_OPERATORS = {"Certificate", "ServiceMonitor", "PrometheusRule", "ScaledObject"}


def test_there_are_eight_examples():
    assert len(EXAMPLES) == 8


def test_no_release_is_left_out():
    numbers = [number for _, number in RELEASES]
    assert numbers == list(range(OLDEST[1], numbers[-1] + 1))


def test_helm_lint_passes(values):
    done = helm("lint --strict", "-f", str(values))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout


def test_the_objects_do_not_depend_on_the_release(values):
    assert render(values, "--kube-version", f"1.{OLDEST[1]}") == render(values)


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: f"{release[0]}.{release[1]}")
def test_the_release_knows_each_field(objects, release):
    version = f"{release[0]}.{release[1]}"
    for found in objects:
        if found["kind"] not in OF_OPERATORS:
            assert kubernetes_validate.validate(found, version, strict=True) == version


def test_an_earlier_release_is_rejected():
    assert "incompatible with Kubernetes v1.27" in rejection(example("plaintext"), "--kube-version", "1.27")


def test_the_chart_has_the_version_of_the_project():
    version = re.search(r"^project\(penstock VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    chart = (CHART / "Chart.yaml").read_text()
    assert f"\nversion: {version}\n" in chart
    assert f'\nappVersion: "{version}"\n' in chart
