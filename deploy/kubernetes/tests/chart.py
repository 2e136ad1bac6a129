"""Renders the chart by helm, and finds objects in the result."""

import functools
import os
import subprocess
from pathlib import Path

import kubernetes_validate
import yaml

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy/kubernetes/penstock"
EXAMPLES = sorted((ROOT / "deploy/kubernetes/examples").glob("*.yaml"))
NAMESPACE = "data"
OLDEST = (1, 28)


def minor(version):
    return tuple(int(part) for part in version.split(".")[:2])


RELEASES = sorted({minor(version) for version in kubernetes_validate.utils.all_versions()} - {(1, n) for n in range(OLDEST[1])})
NEWEST = ".".join(str(part) for part in RELEASES[-1])


def helm(command, *arguments):
    """Returns the finished process of `helm COMMAND ... CHART ARGUMENTS`."""
    words = [os.environ["PENSTOCK_HELM"], *command.split(), str(CHART), *arguments]
    if "--kube-version" not in arguments:
        words += ["--kube-version", NEWEST]
    return subprocess.run([*words, "--namespace", NAMESPACE], capture_output=True, text=True, check=False)


@functools.cache
def render(example, *arguments):
    """Returns the objects of the release `penstock` with an example's values."""
    done = helm("template penstock", "-f", str(example), *arguments)
    assert done.returncode == 0, done.stderr
    return [found for found in yaml.safe_load_all(done.stdout) if found]


def rejection(example, *arguments):
    """Returns helm's message about values that the chart rejects."""
    done = helm("template penstock", "-f", str(example), *arguments)
    assert done.returncode != 0, f"helm accepts {arguments}"
    return done.stderr


def example(name):
    return next(path for path in EXAMPLES if path.stem == name)


def of_kind(objects, *kinds):
    return [found for found in objects if found["kind"] in kinds]


class Workload:
    """A StatefulSet or Deployment, its only container, and its command line."""

    def __init__(self, found):
        self.object = found
        self.role = found["metadata"]["labels"]["app.kubernetes.io/component"]
        self.spec = found["spec"]
        self.labels = self.spec["template"]["metadata"]["labels"]
        self.pod = self.spec["template"]["spec"]
        (self.container,) = self.pod["containers"]
        self.arguments = self.container["args"]

    def flag(self, name):
        """Returns the value of a flag, "" for a switch, or None."""
        for argument in self.arguments:
            if argument == f"--{name}":
                return ""
            if argument.startswith(f"--{name}="):
                return argument.split("=", 1)[1]
        return None

    def volume(self, name):
        """Returns the volume's source: a pair of its kind and its settings."""
        for volume in self.pod["volumes"]:
            if volume["name"] == name:
                return next((kind, settings) for kind, settings in volume.items() if kind != "name")
        for claim in self.spec.get("volumeClaimTemplates", []):
            if claim["metadata"]["name"] == name:
                return "persistentVolumeClaim", claim["spec"]
        raise KeyError(name)

    def mount_of(self, path):
        """Returns the mount that contains a path, or None."""
        mounts = self.container["volumeMounts"]
        return next((mount for mount in mounts if f"{path}/".startswith(mount["mountPath"] + "/")), None)


def workloads(objects):
    return [Workload(found) for found in of_kind(objects, "StatefulSet", "Deployment")]


def workload(objects, role):
    (found,) = (each for each in workloads(objects) if each.role == role)
    return found


def config(objects, role):
    """Returns the text of a role's configuration file."""
    name = f"{role}.textproto"
    (text,) = (found["data"][name] for found in of_kind(objects, "ConfigMap") if name in found["data"])
    return text


def selects(selector, labels):
    """Returns whether a label selector without expressions matches."""
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
