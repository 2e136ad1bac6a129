"""The life of one pod on the stand-in node: volumes, address, container, probes, restarts, end."""

import base64
import shutil
import threading
import time
import traceback
from datetime import datetime, timezone

from api import CORE, ApiError
from container import Run, environment, spec_of
from probes import Probes
from volumes import NotYet, Volumes

STEP_SECONDS = 0.2
REFRESH_SECONDS = 5  # the kubelet's default is a minute
FIRST_BACKOFF, LONGEST_BACKOFF = 10, 300


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Pod:
    """Runs a pod in a thread until it is deleted. The stand-in knows pods with one container."""

    def __init__(self, node, pod):
        self.node, self.object = node, pod
        self.name, self.uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        self.path = f"{CORE}/namespaces/{pod['metadata']['namespace']}/pods/{self.name}"
        (self.container,) = pod["spec"]["containers"]
        self.folder = node.folder / f"{self.name}-{self.uid[:8]}"
        self.folder.mkdir()
        self.log = self.folder / "log"
        self.log.touch()
        self.volumes = Volumes(node.api, pod, self.folder / "volumes")
        self.namespace = self.address = None
        self.run = self.probes = None
        self.restarts = 0
        self.state, self.last_state = {"waiting": {"reason": "ContainerCreating"}}, {}
        self.started_at = now()
        self.next_start = 0.0
        self.stop_at = None  # when SIGKILL follows SIGTERM
        self.term_at = self.end_seconds = None
        self.written = None
        self.halted = threading.Event()
        self.thread = threading.Thread(target=self._live, daemon=True)
        self.thread.start()

    def update(self, pod):
        self.object = pod

    def halt(self):
        """Ends the container at once; the API keeps the pod."""
        self.halted.set()
        self.thread.join()

    def exit_code(self):
        """Returns the exit code of the last run that ended, or None."""
        for state in (self.state, self.last_state):
            if "terminated" in state:
                return state["terminated"]["exitCode"]
        return None

    def _live(self):
        next_refresh = time.monotonic() + REFRESH_SECONDS
        while not self.halted.wait(STEP_SECONDS):
            try:
                if self._step():
                    break
                if self.run is not None and time.monotonic() > next_refresh:
                    next_refresh = time.monotonic() + REFRESH_SECONDS
                    self.volumes.refresh()
            except NotYet as error:
                self._event("FailedMount", str(error))
            except Exception:  # the kubelet tries again too
                self.node.problem(f"{self.name}: {traceback.format_exc()}")
        if self.run is not None:
            self.run.delete()
        if self.namespace is not None:
            self.node.network.leave(self.namespace)
        shutil.rmtree(self.folder / "volumes", ignore_errors=True)

    def _step(self):
        """Returns true after the end of the pod."""
        ending = "deletionTimestamp" in self.object["metadata"]
        if self.run is None and not ending and not self._is_over() and time.monotonic() >= self.next_start:
            self._start()
        if self.run is not None:
            if ending and self.stop_at is None:
                self._terminate(self.object["metadata"]["deletionGracePeriodSeconds"])
            if self.stop_at is not None and time.monotonic() > self.stop_at:
                self.run.signal("KILL")
            if self.run.exit_code() is None:
                self.probes.step(self.address, self.run, ending)
                if self.stop_at is None and (reason := self.probes.failure()):
                    self._event("Unhealthy", reason)
                    self._terminate(self.object["spec"]["terminationGracePeriodSeconds"])
            else:
                self._ended()
        self._write_status()
        if not ending or self.run is not None:
            return False
        self.node.api.delete(self.path, gracePeriodSeconds=0, preconditions={"uid": self.uid})
        return True

    def _start(self):
        self.volumes.mount()
        if self.container["image"] != self.node.image.name:
            self.state = {"waiting": {"reason": "ErrImagePull", "message": f"there is only {self.node.image.name}"}}
            return
        if self.namespace is None:
            self.namespace, self.address = self.node.network.join()
        values = environment(self.object, self.container, self.address, self._value)
        name = f"{self.name}-{self.uid[:8]}-{self.restarts}"
        spec = spec_of(self.object, self.container, self.node.image, values, self._mounts(), self.namespace,
                       f"/{self.node.cgroup}/{name}")  # fmt: skip
        self.run = Run(name, spec, self.folder / f"run-{self.restarts}", self.log)
        self.probes = Probes(self.container)
        self.state = {"running": {"startedAt": now()}}

    def _mounts(self):
        """Returns runc's mounts: those of the container, and the names of the host."""
        hosts, resolver = self.folder / "hosts", self.folder / "resolv.conf"
        hosts.write_text(f"127.0.0.1 localhost\n{self.address} {self.name}\n")
        resolver.write_text(self.node.resolver(self.object["metadata"]["namespace"]))
        mounts = [(hosts, "/etc/hosts", True), (resolver, "/etc/resolv.conf", True)]
        for mount in self.container.get("volumeMounts", []):
            place = self.volumes.places[mount["name"]] / mount.get("subPath", "")
            mounts.append((place, mount["mountPath"], mount.get("readOnly", False)))
        return [
            {"destination": target, "source": str(place), "options": ["rbind", "ro" if closed else "rw"]}
            for place, target, closed in mounts
        ]

    def _value(self, kind, reference):
        data = self.volumes.object(kind, reference["name"]).get("data", {})
        if reference["key"] not in data:
            raise NotYet(f"couldn't find key {reference['key']} in {kind} {reference['name']}")
        text = data[reference["key"]]
        return base64.b64decode(text).decode() if kind == "secrets" else text

    def _terminate(self, grace):
        self.term_at = time.monotonic()
        self.stop_at = self.term_at + grace
        self.run.signal("TERM")

    def _ended(self):
        code = self.run.exit_code()
        code = 128 - code if code < 0 else code
        ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error",
                 "startedAt": self.state["running"]["startedAt"], "finishedAt": now()}  # fmt: skip
        self.run.delete()
        if self.term_at is not None:
            self.end_seconds = time.monotonic() - self.term_at
        self.run = self.probes = self.stop_at = self.term_at = None
        self.state = {"terminated": ended}
        policy = self.object["spec"]["restartPolicy"]
        if "deletionTimestamp" not in self.object["metadata"] and (policy == "Always" or (policy == "OnFailure" and code != 0)):
            self.last_state = self.state
            self.state = {"waiting": {"reason": "CrashLoopBackOff"}}
            self.next_start = time.monotonic() + min(FIRST_BACKOFF * 2**self.restarts, LONGEST_BACKOFF)
            self.restarts += 1

    def _is_over(self):
        return "terminated" in self.state

    def _phase(self):
        if self._is_over():
            return "Failed" if self.exit_code() != 0 else "Succeeded"
        return "Pending" if self.address is None else "Running"

    def _write_status(self):
        ready = self.probes is not None and self.probes.ready()
        flags = {"Initialized": True, "ContainersReady": ready, "Ready": ready}
        status = {
            "phase": self._phase(),
            "hostIP": self.node.address,
            "startTime": self.started_at,
            "containerStatuses": [
                {
                    "name": self.container["name"],
                    "image": self.container["image"],
                    "imageID": f"{self.container['image']}@sha256:{'0' * 64}",
                    "ready": ready,
                    "started": self.probes is not None and self.probes.started(),
                    "restartCount": self.restarts,
                    "state": self.state,
                    "lastState": self.last_state,
                }
            ],
        }
        if self.address is not None:
            status |= {"podIP": self.address, "podIPs": [{"ip": self.address}]}
        if (status, ready) == self.written:
            return
        before = {each["type"]: each for each in self.object.get("status", {}).get("conditions", [])}
        for kind, value in flags.items():
            text = str(value)
            if before.get(kind, {}).get("status") != text:
                before[kind] = {"type": kind, "status": text, "lastTransitionTime": now()}
        try:
            self.node.api.patch(f"{self.path}/status", {"status": {**status, "conditions": list(before.values())}})
        except ApiError as error:
            if error.status != 404:
                raise
        self.written = status, ready

    def _event(self, reason, message):
        self.node.problem(f"{self.name}: {reason}: {message}")
