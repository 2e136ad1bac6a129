"""The folders of a pod's volumes, as the kubelet makes them."""

import base64
import itertools
import os
import shutil
from pathlib import Path

from api import CORE

NUMBERS = itertools.count()


class NotYet(Exception):
    """A volume cannot be mounted; the kubelet would try again."""


class Volumes:
    """The volumes of one pod, below `folder`."""

    def __init__(self, api, pod, folder):
        self.api, self.pod, self.folder = api, pod, folder
        self.namespace = pod["metadata"]["namespace"]
        self.group = pod["spec"].get("securityContext", {}).get("fsGroup")
        self.places = {}

    def mount(self):
        """Makes all volumes; raises NotYet if one needs an object that does not exist."""
        for volume in self.pod["spec"].get("volumes", []):
            if volume["name"] not in self.places:
                self.places[volume["name"]] = self._make(volume)

    def refresh(self):
        """Writes changed Secrets and ConfigMaps."""
        for volume in self.pod["spec"].get("volumes", []):
            if "secret" in volume or "configMap" in volume:
                self._write(volume, self.folder / volume["name"])

    def object(self, kind, name, optional=False):
        found = self.api.find(f"{CORE}/namespaces/{self.namespace}/{kind}/{name}")
        if found is None and not optional:
            raise NotYet(f'{kind} "{name}" not found')
        return found or {}

    def _make(self, volume):
        place = self.folder / volume["name"]
        if "secret" in volume or "configMap" in volume:
            place.mkdir(parents=True, exist_ok=True)
            self._write(volume, place)
        elif "emptyDir" in volume:
            place.mkdir(parents=True)
            place.chmod(0o777)
            self._give(place)
        elif "persistentVolumeClaim" in volume:
            place = self._claimed(volume["persistentVolumeClaim"]["claimName"])
            self._give(place)
        elif "hostPath" in volume:
            place = Path(volume["hostPath"]["path"])
            if not place.is_dir():
                raise NotYet(f"hostPath type check failed: {place} is not a directory")
        else:
            raise NotImplementedError(f"the stand-in does not know the volume {volume}")
        return place

    def _claimed(self, claim):
        volume = self.object("persistentvolumeclaims", claim).get("spec", {}).get("volumeName")
        if not volume:
            raise NotYet(f"claim {claim} is not bound")
        return Path(self.api.get(f"{CORE}/persistentvolumes/{volume}")["spec"]["local"]["path"])

    def _give(self, place):
        """Lets the group of fsGroup write."""
        if self.group is not None and place.stat().st_gid != self.group:
            os.chown(place, -1, self.group)
            place.chmod(place.stat().st_mode & 0o777 | 0o2070)

    def _files(self, volume):
        """Returns the bytes and the mode of each file."""
        if "secret" in volume:
            source = volume["secret"]
            data = self.object("secrets", source["secretName"], source.get("optional")).get("data") or {}
            contents = {key: base64.b64decode(text) for key, text in data.items()}
        else:
            source = volume["configMap"]
            data = self.object("configmaps", source["name"], source.get("optional")).get("data") or {}
            contents = {key: text.encode() for key, text in data.items()}
        mode = source.get("defaultMode", 0o644)
        if "items" not in source:
            return {key: (text, mode) for key, text in contents.items()}
        missing = [item["key"] for item in source["items"] if item["key"] not in contents]
        if missing and not source.get("optional"):
            raise NotYet(f"volume {volume['name']} references non-existent key: {missing[0]}")
        return {item["path"]: (contents[item["key"]], item.get("mode", mode)) for item in source["items"]}

    def _write(self, volume, place):
        """Replaces all files at once: each is a link to ..data/NAME, and ..data is a link to the present folder."""
        files = self._files(volume)
        current = place / "..data"
        if current.exists() and {path.name: path.read_bytes() for path in current.iterdir()} == {
            name: text for name, (text, _) in files.items()
        }:
            return
        new = place / f"..{next(NUMBERS)}"
        new.mkdir(mode=0o755)
        for name, (text, mode) in files.items():
            (new / name).write_bytes(text)
            if self.group is not None:
                os.chown(new / name, -1, self.group)
            (new / name).chmod(mode if self.group is None else mode | 0o440)
        old = current.resolve() if current.exists() else None
        (place / "..next").symlink_to(new.name)
        (place / "..next").rename(current)
        for name in files:
            if not (place / name).is_symlink():
                (place / name).symlink_to(f"..data/{name}")
        for path in place.iterdir():
            if path.is_symlink() and not path.name.startswith("..") and path.name not in files:
                path.unlink()
        if old is not None:
            shutil.rmtree(old)
