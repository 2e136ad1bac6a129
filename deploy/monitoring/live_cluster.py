"""A cluster of real daemons on this machine, with TLS and --http, for check_live.py and live_alerts.py."""

import json
import os
import shutil
import signal
import ssl
import struct
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("PENSTOCK_BIN", ROOT / "build/release/bin"))
sys.path.insert(0, str(ROOT / "tests/support/cluster"))
from free_port import free_port


def wait_until(what, seconds, condition):
    """Returns the first true result of `condition`. Fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        if result := condition():
            return result
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.2)


class Certificates:
    """A CA and certificates below `folder`. A certificate is NAME.pem with NAME.key."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        self._openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "100", "-subj", "/CN=test CA")
        for name in ("coordinator", "worker", "trainer"):
            self._openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
            self.sign(name, 90)

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

    def sign(self, name, days):
        """Replaces NAME.pem by a certificate that is valid for `days`, also for localhost."""
        names = self.folder / f"{name}.names"
        names.write_text(f"subjectAltName=DNS:{name}.penstock,DNS:localhost,IP:127.0.0.1\n")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", str(days), "-extfile", names.name, "-out", f"{name}.new")
        os.replace(self.folder / f"{name}.new", self.folder / f"{name}.pem")

    def flags(self, name, own=True):
        flags = ["--tls-ca", str(self.folder / "ca.pem")]
        if own:
            flags += ["--tls-cert", str(self.folder / f"{name}.pem"), "--tls-key", str(self.folder / f"{name}.key")]
        return flags


class Daemon:
    """A penstockd, which can be started again on its ports and its state."""

    def __init__(self, cluster, name, role, flags=(), environment=None, state=None):
        self.cluster, self.name, self.role = cluster, name, role
        self.port, self.http = free_port(), free_port()
        self.flags, self.environment = list(flags), environment or {}
        self.state = state or cluster.work / name
        self.process = None

    def start(self, program=None):
        command = [str(program or BIN / "penstockd"), self.role, "--listen", f"127.0.0.1:{self.port}",
                   "--http", f"127.0.0.1:{self.http}", "--state-dir", str(self.state),
                   "--socket-dir", str(self.cluster.work / "sockets")]
        if self.role == "coordinator":
            command = command[:-2]
        else:
            command += ["--name", self.name, "--data-root", f"data={self.cluster.data}", "--memory-budget", "512MiB",
                        "--record-cache", "2MiB", "--decoded-cache", "0", "--row-cache", "0", "--threads", "2"]
        tls = "coordinator" if self.role == "standalone" else self.role
        command += self.cluster.certificates.flags(tls) + self.flags
        log = open(self.cluster.work / f"{self.name}.log", "a")  # noqa: SIM115 (the child keeps it)
        self.process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **self.environment})
        log.close()
        wait_until(f"{self.name}: /healthz", 60, self.answers)

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} has ended; see {self.cluster.work / self.name}.log")
        try:
            return bool(self.cluster.get(self, "/healthz"))
        except OSError:
            return False

    def stop(self, by=signal.SIGTERM):
        if self.process is not None:
            self.process.send_signal(by)
            try:
                self.process.wait(70)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None


class Cluster:
    """Generates data, 600 images in 6 shards, and certificates below `work`. Starts no daemon."""

    def __init__(self, work):
        self.work, self.data = work, work / "data"
        self.certificates = Certificates(work / "tls")
        self.daemons, self.readers = [], []
        self.coordinator_address = ""
        subprocess.run([str(BIN / "make_demo_dataset"), str(self.data / "photos"), "600", "6"], check=True,
                       capture_output=True)
        self.context = ssl.create_default_context(cafile=str(work / "tls/ca.pem"))
        self.context.load_cert_chain(work / "tls/trainer.pem", work / "tls/trainer.key")

    def copy_data(self, name):
        shutil.copytree(self.data / "photos", self.data / name)

    def add(self, name, role, **options):
        daemon = Daemon(self, name, role, **options)
        self.daemons.append(daemon)
        if role != "worker":
            self.coordinator_address = f"127.0.0.1:{daemon.port}"
        return daemon

    def get(self, daemon, path):
        url = f"https://127.0.0.1:{daemon.http}{path}"
        with urllib.request.urlopen(url, timeout=10, context=self.context) as answer:
            return answer.read().decode()

    def penstock(self, *arguments, own=True, check=True, timeout=60):
        command = [str(BIN / "penstock"), *arguments, "--coordinator", self.coordinator_address,
                   *self.certificates.flags("trainer", own)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        if check and done.returncode != 0:
            raise RuntimeError(f"penstock {arguments[0]}: {done.stderr}")
        return done

    def job_file(self, name, folder=None, policy="FAIL"):
        """Writes a job that reads the data in `folder` (its own name), and returns its file."""
        path = self.work / f"{name}.textproto"
        path.write_text(f"""name: "{name}"
dataset {{ files: "{folder or name}/*" }}
features {{ key: "image/encoded" column: "image" type: BYTES }}
features {{ key: "image/class/label" column: "label" type: INT64 }}
ops {{ decode_image {{ channels: RGB }} }}
ops {{ random_resized_crop {{ height: 64 width: 64 }} }}
order {{ seed: 17 }}
errors {{ policy: {policy} max_bad_fraction: 0.5 }}
batch {{ size: 16 last: DROP }}
""")
        return path

    def submit(self, *arguments, **options):
        self.penstock("submit", str(self.job_file(*arguments, **options)))

    def read(self, job, *flags):
        """Starts a trainer, which reads until it is stopped."""
        command = [str(BIN / "penstock"), "read", job, "--epochs", "100000", "--no-digest", *flags,
                   "--coordinator", self.coordinator_address, *self.certificates.flags("trainer")]
        log = open(self.work / f"read-{job}.log", "a")  # noqa: SIM115 (the child keeps it)
        reader = subprocess.Popen(command, stdout=log, stderr=log)
        log.close()
        self.readers.append(reader)
        return reader

    def status(self):
        return json.loads(self.penstock("status", "--json").stdout)

    def stop(self):
        for reader in self.readers:
            stop_process(reader)
        for daemon in reversed(self.daemons):
            daemon.stop(signal.SIGKILL)


def stop_process(process):
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def flip_first_record(shard):
    """Changes the data of a TFRecord shard's first record, and returns a function that restores them."""
    with open(shard, "r+b") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        offset = 12 + length // 2
        file.seek(offset)
        before = file.read(8)
        file.seek(offset)
        file.write(bytes(byte ^ 0xFF for byte in before))

    def restore():
        with open(shard, "r+b") as file:
            file.seek(offset)
            file.write(before)

    return restore
