"""Real daemons run the rendered command lines, with folders of the test in place of the mounts, and ports of localhost."""

import os
import re
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from chart import ROOT, config, example, render, workload

PROGRAMS = Path(os.environ.get("PENSTOCK_BIN", ROOT / "build/release/bin"))
pytestmark = pytest.mark.skipif(not (PROGRAMS / "penstockd").exists(), reason=f"{PROGRAMS} has no penstockd; ./run build")
PATIENCE = 60
# The kubelet verifies no certificate.
UNVERIFIED = ssl.create_default_context()
UNVERIFIED.check_hostname, UNVERIFIED.verify_mode = False, ssl.CERT_NONE


def wait_until(what, condition):
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < deadline, f"waited {PATIENCE} s for {what}"
        time.sleep(0.1)
    return result


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    """A pod whose container is a process of this machine."""

    def __init__(self, objects, role, folder, coordinator_port=None):
        self.workload = workload(objects, role)
        self.folder = folder / role
        self.ports = {7070: coordinator_port or free_port(), 7071: free_port(), 7072: free_port()}
        for mount in self.workload.container["volumeMounts"]:
            Path(self.translate(mount["mountPath"])).mkdir(parents=True)
        self.file("/etc/penstock/config", f"{role}.textproto").write_text(config(objects, role))
        self.process = None

    def file(self, mount, name):
        assert self.workload.mount_of(f"{mount}/{name}"), f"{mount} is no mount"
        return Path(self.translate(mount)) / name

    def translate(self, text):
        text = text.replace("$(POD_IP)", "127.0.0.1").replace("$(POD_NAME)", "penstock-worker-0")
        text = re.sub(r"(^|=)(?=/(etc|var|data|tmp)\b)", rf"\1{self.folder}", text)
        text = re.sub(r"\b[\w.-]+\.svc:", "localhost:", text)
        return re.sub(r":(707[012])$", lambda port: f":{self.ports[int(port[1])]}", text)

    def start(self):
        arguments = [self.translate(argument) for argument in self.workload.arguments]
        with open(self.folder / "log", "w") as log:
            self.process = subprocess.Popen([PROGRAMS / "penstockd", *arguments], stdout=log, stderr=log)

    def get(self, path, token=None):
        """Returns the status and the text of a page."""
        scheme = self.workload.container["readinessProbe"]["httpGet"]["scheme"].lower()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"{scheme}://127.0.0.1:{self.ports[7072]}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10, context=UNVERIFIED) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def is_ready(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return self.get(self.workload.container["readinessProbe"]["httpGet"]["path"])[0] == 200
        except OSError:
            return False

    def penstock(self, *arguments, **environment):
        """Returns what the command prints in the container."""
        values = {each["name"]: self.translate(each["value"]) for each in self.workload.container["env"] if "value" in each}
        command = [PROGRAMS / "penstock", *arguments]
        done = subprocess.run(command, env={**os.environ, **values, **environment}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self):
        """Returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(self.workload.pod["terminationGracePeriodSeconds"])


@pytest.fixture
def pods(tmp_path):
    """Makes the daemons of a release; ends them after the test."""
    made = []

    def make(objects):
        made.append(Daemon(objects, "coordinator", tmp_path))
        made.append(Daemon(objects, "worker", tmp_path, made[0].ports[7070]))
        return made

    yield make
    for each in made:
        if each.process is not None and each.process.poll() is None:
            each.process.kill()
            each.process.wait()


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def write_certificates(folder, daemons, names):
    """Writes the files of the Secrets: a CA, and a certificate with a name for each daemon."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test CA")
    for daemon, name in zip(daemons, names, strict=True):
        extensions = ["-addext", "basicConstraints=CA:false", "-addext", f"subjectAltName=DNS:{name}"]
        sign = ["-CA", "ca.crt", "-CAkey", "ca.key", *extensions]
        files = ["-keyout", daemon.file("/etc/penstock/tls", "tls.key"), "-out", daemon.file("/etc/penstock/tls", "tls.crt")]
        openssl(folder, "req", "-x509", *key, *sign, *files, "-subj", f"/CN={name}")
        daemon.file("/etc/penstock/tls", "ca.crt").write_bytes((folder / "ca.crt").read_bytes())


def write_tokens(folder, daemons):
    """Writes the files of the Secrets with their modes. Returns the token of an operator."""
    tokens = {}
    for role in ("operator", "worker"):
        command = [PROGRAMS / "penstock", "token", role, "--role", role, "--file", folder / "tokens"]
        tokens[role] = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    files = [(each.file("/etc/penstock/tokens", "tokens"), (folder / "tokens").read_text()) for each in daemons]
    files.append((daemons[1].file("/etc/penstock/token", "token"), tokens["worker"]))
    for file, text in files:
        file.write_text(text)
        file.chmod(0o440)
    return tokens["operator"]


def start(daemons):
    for each in daemons:
        each.start()
    for each in daemons:
        wait_until(f"the {each.workload.role} to be ready", each.is_ready)


def stop(daemons):
    for each in reversed(daemons):
        assert each.stop() == 0


def test_plaintext(pods):
    daemons = pods(render(example("plaintext")))
    start(daemons)
    assert "penstock-worker-0" in daemons[0].penstock("workers")
    stop(daemons)


@pytest.mark.parametrize("name", ["tls-secrets", "disk-cache"])
def test_certificates(pods, tmp_path, name):
    daemons = pods(render(example(name)))
    write_certificates(tmp_path, daemons, ["localhost", daemons[1].workload.flag("tls-name")])
    start(daemons)
    assert "penstock-worker-0" in daemons[0].penstock("workers")
    stop(daemons)


def test_tokens_and_metrics(pods, tmp_path):
    daemons = pods(render(example("shared-memory"), "--set", "worker.sharedMemory.enabled=false"))
    write_certificates(tmp_path, daemons, ["localhost", daemons[1].workload.flag("tls-name")])
    token = write_tokens(tmp_path, daemons)
    start(daemons)
    for each in daemons:
        assert each.get("/metrics")[0] == 401
        assert each.get("/metrics", token)[0] == 200
    assert "\npenstock_workers_wanted 1\n" in daemons[0].get("/metrics", token)[1]
    (tmp_path / "operator.token").write_text(token)
    assert "penstock-worker-0" in daemons[0].penstock("workers", PENSTOCK_TOKEN_FILE=str(tmp_path / "operator.token"))
    stop(daemons)
