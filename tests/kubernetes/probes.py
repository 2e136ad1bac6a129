"""The probes of a container, as the kubelet makes them."""

import http.client
import ssl
import time

# The kubelet verifies no certificate.
UNVERIFIED = ssl.create_default_context()
UNVERIFIED.check_hostname, UNVERIFIED.verify_mode = False, ssl.CERT_NONE


def http_get(address, probe, container):
    """Returns whether the server answers with a status from 200 to 399, and why not."""
    get = probe["httpGet"]
    ports = {port["name"]: port["containerPort"] for port in container.get("ports", []) if "name" in port}
    port, timeout = ports.get(get["port"], get["port"]), probe.get("timeoutSeconds", 1)
    if get.get("scheme", "HTTP") == "HTTPS":
        connection = http.client.HTTPSConnection(address, port, timeout=timeout, context=UNVERIFIED)
    else:
        connection = http.client.HTTPConnection(address, port, timeout=timeout)
    try:
        connection.request("GET", get.get("path", "/"), headers={"User-Agent": "kube-probe/1.34"})
        answer = connection.getresponse()
        return 200 <= answer.status < 400, f"{answer.status}: {answer.read(500).decode(errors='replace')}"
    except (OSError, http.client.HTTPException) as error:
        return False, str(error)
    finally:
        connection.close()


class Probe:
    """Counts the results of one probe. `good` is None before the first verdict."""

    def __init__(self, settings):
        self.settings = settings
        self.next = time.monotonic() + settings.get("initialDelaySeconds", 0)
        self.good = None
        self.reason = ""
        self.last, self.equal = None, 0

    def is_due(self):
        return time.monotonic() >= self.next

    def take(self, address, container, run):
        self.next = time.monotonic() + self.settings.get("periodSeconds", 10)
        if "httpGet" in self.settings:
            result, self.reason = http_get(address, self.settings, container)
        elif "exec" in self.settings:
            done = run.exec(*self.settings["exec"]["command"])
            result, self.reason = done.returncode == 0, done.stdout + done.stderr
        else:
            raise NotImplementedError(f"the stand-in does not know the probe {self.settings}")
        self.equal = self.equal + 1 if result == self.last else 1
        self.last = result
        if self.equal >= self.settings.get("successThreshold" if result else "failureThreshold", 1 if result else 3):
            self.good = result


class Probes:
    """The startup, liveness and readiness probes of one run of a container."""

    def __init__(self, container):
        self.container = container
        self.startup, self.liveness, self.readiness = (
            Probe(container[name]) if name in container else None
            for name in ("startupProbe", "livenessProbe", "readinessProbe")
        )  # fmt: skip

    def step(self, address, run, ending):
        """Takes the probes that are due. A container that ends is probed for readiness only."""
        if self.startup is not None and not self.startup.good:
            due = [] if ending else [self.startup]
        else:
            due = [self.readiness] if ending else [self.readiness, self.liveness]
        for probe in due:
            if probe is not None and probe.is_due():
                probe.take(address, self.container, run)

    def started(self):
        return self.startup is None or bool(self.startup.good)

    def ready(self):
        return self.started() and (self.readiness is None or bool(self.readiness.good))

    def failure(self):
        """Returns why the container must be restarted, or None."""
        for name, probe in (("Startup", self.startup), ("Liveness", self.liveness)):
            if probe is not None and probe.good is False:
                return f"{name} probe failed: {probe.reason}"
        return None
