"""The stand-in for a node: it registers a Node, renews its Lease, and runs the pods that the scheduler assigns to it.

In place of the kubelet, containerd and the CNI plugins, where the kernel lacks what these need. Policies of the network and
seccomp profiles have no effect.
"""

import secrets
import threading
import traceback
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from api import CORE, ApiError
from control_plane import HOST
from pod import Pod, now

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
POLL_SECONDS, LEASE_SECONDS = 0.3, 10
CAPACITY = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110"}


class Image(NamedTuple):
    """The only image that the node has."""

    name: str
    root: Path
    entrypoint: list
    environment: dict


class Node:
    """Polls the API, and has a thread for each pod. `ended` has the pods that were deleted."""

    def __init__(self, name, api, network, image, folder):
        self.name, self.api, self.network, self.image = name, api, network, image
        self.folder = folder
        self.folder.mkdir()
        self.address = HOST
        self.cgroup = f"penstock-test-{name}-{secrets.token_hex(4)}"
        self.pods, self.ended = {}, []
        self.problems = []
        self._register()
        self.halted = threading.Event()
        self.threads = [threading.Thread(target=self._poll, daemon=True), threading.Thread(target=self._renew, daemon=True)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        """Ends all containers at once."""
        self.halted.set()
        for thread in self.threads:
            thread.join()
        for pod in self.pods.values():
            pod.halt()
        # Version 1 of cgroups has a tree for each controller.
        for place in ("", "*/"):
            for folder in Path("/sys/fs/cgroup").glob(place + self.cgroup):
                folder.rmdir()

    def resolver(self, namespace):
        """Returns the text of a pod's resolv.conf."""
        return f"nameserver {HOST}\nsearch {namespace}.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"

    def problem(self, text):
        if text not in self.problems[-10:]:
            self.problems.append(text)

    def _register(self):
        metadata = {"name": self.name, "labels": {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"}}
        try:
            self.api.create(f"{CORE}/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        except ApiError as error:
            if error.status != 409:
                raise
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now(),
                     "lastTransitionTime": now()}  # fmt: skip
        status = {"capacity": CAPACITY, "allocatable": CAPACITY, "conditions": [condition],
                  "addresses": [{"type": "InternalIP", "address": self.address}, {"type": "Hostname", "address": self.name}],
                  "nodeInfo": {"kubeletVersion": "v1.34.0"}}  # fmt: skip
        self.api.patch(f"{CORE}/nodes/{self.name}/status", {"status": status})

    def _renew(self):
        while True:
            try:
                self._renew_once()
            except (OSError, ApiError):
                self.problem(traceback.format_exc())
            if self.halted.wait(LEASE_SECONDS):
                return

    def _renew_once(self):
        time = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 4 * LEASE_SECONDS, "renewTime": time}
        try:
            self.api.patch(f"{LEASES}/{self.name}", {"spec": spec})
        except ApiError as error:
            if error.status != 404:
                raise
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self.name}, "spec": spec}
            self.api.create(LEASES, lease)

    def _poll(self):
        while not self.halted.wait(POLL_SECONDS):
            try:
                found = self.api.items(f"{CORE}/pods", fieldSelector=f"spec.nodeName={self.name}")
            except (OSError, ApiError):
                self.problem(traceback.format_exc())
                continue
            current = {pod["metadata"]["uid"]: pod for pod in found}
            for uid, pod in current.items():
                if uid in self.pods:
                    self.pods[uid].update(pod)
                else:
                    self.pods[uid] = Pod(self, pod)
            for uid in set(self.pods) - set(current):
                pod = self.pods.pop(uid)
                pod.halt()
                self.ended.append(pod)
