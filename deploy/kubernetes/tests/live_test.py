"""Real daemons run the rendered command lines, with folders of the test in place of the mounts, and ports of localhost."""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from chart import ROOT, config, example, render, workload

sys.path.insert(0, str(ROOT / "tests/support/cluster"))
from free_port import free_port

PROGRAMS = Path(os.environ.get("PENSTOCK_BIN", ROOT / "build/release/bin"))
pytestmark = pytest.mark.skipif(not (PROGRAMS / "make_demo_dataset").exists(), reason=f"{PROGRAMS} has no programs; ./run test")
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
    """Writes the files of the Secrets with their modes, and NAME.token of an operator, a trainer and a viewer."""
    for name in ("operator", "trainer", "viewer", "worker"):
        command = [PROGRAMS / "penstock", "token", name, "--role", name, "--file", folder / "tokens"]
        if name == "trainer":
            command += ["--jobs", "demo"]
        (folder / f"{name}.token").write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    secrets = [(each.file("/etc/penstock/tokens", "tokens"), "tokens") for each in daemons]
    secrets.append((daemons[1].file("/etc/penstock/token", "token"), "worker.token"))
    for file, source in secrets:
        file.write_bytes((folder / source).read_bytes())
        file.chmod(0o440)


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


def test_tokens(pods, tmp_path):
    daemons = pods(render(example("shared-memory"), "--set", "worker.sharedMemory.enabled=false"))
    coordinator, worker = daemons
    write_certificates(tmp_path, daemons, ["localhost", worker.workload.flag("tls-name")])
    write_tokens(tmp_path, daemons)
    data = Path(worker.translate("/data/imagenet"))
    subprocess.run([PROGRAMS / "make_demo_dataset", data, "40", "2"], check=True, capture_output=True)
    start(daemons)

    viewer = (tmp_path / "viewer.token").read_text().strip()
    for each in daemons:
        assert each.get("/metrics")[0] == 401
        assert each.get("/metrics", viewer)[0] == 200
    assert "\npenstock_workers_wanted 1\n" in coordinator.get("/metrics", viewer)[1]

    def command(name, *arguments):
        # The callers have a token, the CA, and no certificate.
        own = {"PENSTOCK_TOKEN_FILE": str(tmp_path / f"{name}.token"), "PENSTOCK_TLS_CERT": "", "PENSTOCK_TLS_KEY": ""}
        return coordinator.penstock(*arguments, **own)

    job = tmp_path / "demo.textproto"
    command("operator", "init", f"{data}/*", "--name", "demo", "--index-dir", str(tmp_path), "--out", str(job))
    command("operator", "submit", str(job))
    assert json.loads(command("trainer", "read", "demo", "--batch-size", "8", "--json"))["rows"] == 40
    stop(daemons)
