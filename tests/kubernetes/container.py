"""One run of a container: runc starts the image's folder with the user, environment, mounts and limits of the pod."""

import json
import re
import subprocess
from pathlib import Path

CLOSED = ("nosuid", "noexec", "nodev")
SUFFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9}


def quantity(text):
    """Returns a quantity of Kubernetes, such as 512Mi or 500m."""
    if text.endswith("m"):
        return float(text[:-1]) / 1000
    number, suffix = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", text).groups()
    return float(number) * (SUFFIXES[suffix] if suffix else 1)


def expand(text, values):
    """Replaces $(NAME) as Kubernetes does."""
    return re.sub(r"\$\((\w+)\)", lambda found: values.get(found[1], found[0]), text)


def environment(pod, container, address, find):
    """Returns the variables of a container. `find` returns a Secret or ConfigMap."""
    fields = {
        "status.podIP": address,
        "metadata.name": pod["metadata"]["name"],
        "metadata.namespace": pod["metadata"]["namespace"],
        "metadata.uid": pod["metadata"]["uid"],
        "spec.nodeName": pod["spec"]["nodeName"],
    }
    values = {}
    for each in container.get("env", []):
        source = each.get("valueFrom", {})
        if "fieldRef" in source:
            values[each["name"]] = fields[source["fieldRef"]["fieldPath"]]
        elif "secretKeyRef" in source:
            values[each["name"]] = find("secrets", source["secretKeyRef"])
        elif "configMapKeyRef" in source:
            values[each["name"]] = find("configmaps", source["configMapKeyRef"])
        else:
            values[each["name"]] = expand(each.get("value", ""), values)
    return values


def spec_of(pod, container, image, values, mounts, namespace, cgroup):
    """Returns runc's configuration. `mounts` are dicts of runc."""
    security = {**pod["spec"].get("securityContext", {}), **container.get("securityContext", {})}
    user = {"uid": security.get("runAsUser", 0), "gid": security.get("runAsGroup", 0)}
    if security.get("runAsNonRoot") and user["uid"] == 0:
        raise ValueError("container has runAsNonRoot and image will run as root")
    if "fsGroup" in security:
        user["additionalGids"] = [security["fsGroup"]]
    limits = container.get("resources", {}).get("limits", {})
    resources = {}
    if "memory" in limits:
        resources["memory"] = {"limit": int(quantity(limits["memory"]))}
    if "cpu" in limits:
        resources["cpu"] = {"quota": int(quantity(limits["cpu"]) * 100000), "period": 100000}
    words = [*(container.get("command") or image.entrypoint), *container.get("args", [])]
    return {
        "ociVersion": "1.0.2",
        "hostname": pod["metadata"]["name"],
        "root": {"path": str(image.root), "readonly": security.get("readOnlyRootFilesystem", False)},
        "process": {
            "args": [expand(word, values) for word in words],
            "cwd": "/",
            "env": [f"{name}={value}" for name, value in {**image.environment, **values}.items()],
            "user": user,
            "capabilities": {},
            "noNewPrivileges": security.get("allowPrivilegeEscalation") is False,
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro", *CLOSED]},
            {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": ["ro", *CLOSED]},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": [*CLOSED, "mode=1777", "size=64m"]},
            *mounts,
        ],
        "linux": {
            "cgroupsPath": cgroup,
            "resources": resources,
            "namespaces": [
                *({"type": kind} for kind in ("pid", "ipc", "uts", "mount")),
                {"type": "network", "path": f"/run/netns/{namespace}"},
            ],
        },
    }


class Run:
    """A started container. `log` gets its output."""

    def __init__(self, name, spec, folder, log):
        self.name = name
        self.runc = ["runc", "--root", str(folder.parent / "runc")]
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(spec))
        with open(log, "ab") as output:
            command = [*self.runc, "run", "--bundle", str(folder), name]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def exit_code(self):
        """Returns None while it runs."""
        return self.process.poll()

    def exec(self, *command, text="", variables=None):
        """Runs a command in the container, as `kubectl exec -i` does, and returns the finished process."""
        extra = [f"--env={name}={value}" for name, value in (variables or {}).items()]
        words = [*self.runc, "exec", *extra, self.name, *map(str, command)]
        return subprocess.run(words, input=text, capture_output=True, text=True)

    def signal(self, name):
        # Fails if the container ended meanwhile.
        subprocess.run([*self.runc, "kill", self.name, name], capture_output=True)

    def delete(self):
        subprocess.run([*self.runc, "delete", "--force", self.name], capture_output=True)
        self.process.wait()

    def process_file(self, file):
        """Returns a file of the first process in /proc."""
        state = subprocess.run([*self.runc, "state", self.name], capture_output=True, text=True, check=True).stdout
        return Path(f"/proc/{json.loads(state)['pid']}/{file}").read_text()
