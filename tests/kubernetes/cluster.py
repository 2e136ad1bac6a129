"""A cluster for the tests: the control plane, two stand-in nodes, DNS and volumes."""

import os
import subprocess
from pathlib import Path

from api import CORE
from control_plane import HOST, NODES, SERVICES, ControlPlane
from dns import Dns
from network import PodNetwork
from node import Image, Node
from provisioner import Provisioner
from waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ["PENSTOCK_BIN"])
CHART = ROOT / "deploy/kubernetes/penstock"
# The pods' image: the folder of deploy/image/make_root.py, with the settings of deploy/image/build.sh.
IMAGE = Image("registry.test/penstock:test", Path(os.environ["PENSTOCK_IMAGE_ROOT"]), ["penstockd"],
              {"PATH": "/usr/bin", "STATE_DIRECTORY": "/var/lib/penstock"})  # fmt: skip


class Cluster:
    """`admin` may do everything. The cluster's names are valid in this process too."""

    def __init__(self, folder):
        self.folder = folder
        self.plane = ControlPlane(folder / "control-plane")
        self.nodes, self.helpers = {}, []

    def start(self):
        self.plane.start()
        self.admin = self.plane.admin
        network = PodNetwork()
        for name in NODES:
            self.nodes[name] = Node(name, self.plane.api(name), network, IMAGE, self.folder / name)
        self.helpers = [Dns(self.admin, HOST), Provisioner(self.admin, self.folder / "volumes")]
        self.plane.start_proxy()
        resolver = self.folder / "resolv.conf"
        resolver.write_text(f"nameserver {HOST}\nsearch cluster.local\n")
        # In the namespaces of run.sh.
        subprocess.run(["ip", "route", "add", SERVICES, "dev", "lo", "src", HOST], check=True)
        subprocess.run(["mount", "--bind", resolver, "/etc/resolv.conf"], check=True)

    def stop(self):
        for each in (*self.nodes.values(), *self.helpers):
            each.stop()
        self.plane.stop()

    def create_namespace(self, name):
        """Makes a namespace with the Pod Security level `restricted`."""
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        self.admin.create(
            f"{CORE}/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )

    def pods(self, namespace, **labels):
        """Returns the pods with these labels that are not being deleted."""
        found = self.admin.items(f"{CORE}/namespaces/{namespace}/pods",
                                 labelSelector=",".join(f"{key}={value}" for key, value in labels.items()))  # fmt: skip
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def running(self, pod):
        """Returns the stand-in's record of a pod."""
        uid = pod["metadata"]["uid"]

        def find():
            return next((node.pods[uid] for node in self.nodes.values() if uid in node.pods), None)

        return eventually(f"{pod['metadata']['name']} on a node", find, context=self.problems)

    def ended(self, pod):
        """Waits for the end of a deleted pod, and returns the stand-in's record of it."""
        uid = pod["metadata"]["uid"]

        def find():
            return next((each for node in self.nodes.values() for each in node.ended if each.uid == uid), None)

        return eventually(f"the end of {pod['metadata']['name']}", find, context=self.problems)

    def problems(self):
        """Returns the recent problems of the nodes, and the logs of all pods."""
        lines = [text for node in self.nodes.values() for text in node.problems[-10:]]
        for node in self.nodes.values():
            for pod in [*node.pods.values(), *node.ended[-5:]]:
                lines.append(f"-- the end of the log of {pod.name} on {node.name}:\n{pod.log.read_text()[-3000:]}")
        return "\n".join(lines)

    def helm(self, command, *arguments):
        """Runs `helm COMMAND ARGUMENTS` and returns what it prints."""
        words = [os.environ["PENSTOCK_HELM"], *command.split(), *map(str, arguments)]
        done = subprocess.run([*words, "--kubeconfig", self.plane.kubeconfig("admin")], capture_output=True, text=True)
        assert done.returncode == 0, f"{done.stderr}\n{self.problems()}"
        return done.stdout


def is_ready(pod):
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod.get("status", {}).get("conditions", []))
