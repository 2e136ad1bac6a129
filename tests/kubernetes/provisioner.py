"""A default StorageClass whose volumes are folders that both nodes reach."""

import threading
import traceback

from api import CORE, ApiError
from control_plane import NODES

NAME = "penstock.test/folders"
CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "folders", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": NAME,
    "reclaimPolicy": "Retain",
}


class Provisioner:
    """Makes a PersistentVolume for each claim of the class."""

    def __init__(self, api, folder):
        self.api, self.folder = api, folder
        self.folder.mkdir()
        self.problems = []
        self.api.create("/apis/storage.k8s.io/v1/storageclasses", CLASS)
        self.halted = threading.Event()
        self.thread = threading.Thread(target=self._poll, daemon=True)
        self.thread.start()

    def stop(self):
        self.halted.set()
        self.thread.join()

    def _poll(self):
        while not self.halted.wait(0.5):
            try:
                for claim in self.api.items(f"{CORE}/persistentvolumeclaims"):
                    if claim["spec"].get("storageClassName") == CLASS["metadata"]["name"] and "volumeName" not in claim["spec"]:
                        self._provide(claim)
            except (OSError, ApiError):
                self.problems.append(traceback.format_exc())

    def _provide(self, claim):
        metadata, name = claim["metadata"], f"pv-{claim['metadata']['uid']}"
        if self.api.find(f"{CORE}/persistentvolumes/{name}") is not None:
            return
        place = self.folder / name
        place.mkdir(exist_ok=True)
        nodes = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(NODES)}
        spec = {
            "storageClassName": claim["spec"]["storageClassName"],
            "capacity": claim["spec"]["resources"]["requests"],
            "accessModes": claim["spec"]["accessModes"],
            "persistentVolumeReclaimPolicy": CLASS["reclaimPolicy"],
            "claimRef": {"namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]},
            "local": {"path": str(place)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [nodes]}]}},
        }
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
        self.api.create(f"{CORE}/persistentvolumes", volume)
