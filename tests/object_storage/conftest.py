"""Storages of others, started here, with a small data set in a bucket; and the programs."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

HERE = Path(__file__).resolve().parent
BIN = Path(os.environ["PENSTOCK_BIN"])
KEYS = {"AWS_ACCESS_KEY_ID": "penstock-tests", "AWS_SECRET_ACCESS_KEY": "hunter2-hunter2", "AWS_REGION": "us-east-1"}
BUCKET = "train"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A storage that can be killed and started again on its port, with what it had."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {**KEYS, "AWS_ENDPOINT_URL_S3": self.url}
        self.start()

    def start(self):
        with (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + 60
        while True:
            try:
                self.client().list_buckets()
                return
            except (BotoCoreError, ClientError):
                assert self.process.poll() is None, (self.folder / "server.log").read_text()[-2000:]
                assert time.monotonic() < end, "the storage does not answer"
                time.sleep(0.2)

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def client(self):
        config = Config(retries={"max_attempts": 0}, connect_timeout=2, read_timeout=10)
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            region_name="us-east-1",
            config=config,
        )

    def upload(self, files):
        client = self.client()
        end = time.monotonic() + 60
        while True:  # SeaweedFS takes a while until it has room
            try:
                client.create_bucket(Bucket=BUCKET)
                for file in files:
                    client.upload_file(str(file), BUCKET, f"photos/{file.name}")
                return
            except (BotoCoreError, ClientError, OSError, boto3.exceptions.S3UploadFailedError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)


class SeaweedFS(Server):
    def command(self):
        identity = {
            "name": "tests",
            "credentials": [{"accessKey": KEYS["AWS_ACCESS_KEY_ID"], "secretKey": KEYS["AWS_SECRET_ACCESS_KEY"]}],
            "actions": ["Admin", "Read", "List", "Write"],
        }
        (self.folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        if not hasattr(self, "ports"):
            self.ports = [free_port() for _ in range(3)]
        master, volume, filer = self.ports
        return [
            Path(sys.executable).parent / "weed", "server", f"-dir={data}", "-ip=127.0.0.1", "-s3", f"-s3.port={self.port}",
            f"-s3.config={self.folder / 's3.json'}", f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}",
            f"-master.port.grpc={free_port()}", f"-volume.port.grpc={free_port()}", f"-filer.port.grpc={free_port()}",
            f"-s3.port.grpc={free_port()}", "-s3.port.iceberg=0", "-s3.port.lance=0",
            "-master.volumeSizeLimitMB=64", "-volume.max=20",
        ]  # fmt: skip


class Moto(Server):
    def command(self):
        return [Path(sys.executable).parent / "moto_server", "-H", "127.0.0.1", "-p", str(self.port)]


class Place(NamedTuple):
    server: Server
    files: list  # the shards as local files
    folder: Path

    def environment(self, **more):
        ours = {"PATH": f"{BIN}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.folder / "cache"), **self.server.environment}
        return {**os.environ, **ours, **more}

    def type(self, command, code=0, **environment):
        """What a command line prints."""
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.folder,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "hunter2" not in done.stdout + done.stderr
        return done.stdout + done.stderr

    def daemon(self, root, *flags):
        return Daemon(self, ["--data-root", root, *flags])


class Daemon:
    def __init__(self, place, flags):
        self.place = place
        self.state = place.folder / f"state-{time.monotonic_ns()}"
        port = self.state.with_suffix(".port")
        self.log = self.state.with_suffix(".log")
        command = [BIN / "penstockd", "standalone", "--listen", "127.0.0.1:0", "--port-file", port, "--state-dir", self.state]
        with self.log.open("w") as log:
            self.process = subprocess.Popen([*command, *flags], stdout=log, stderr=log, env=place.environment())
        end = time.monotonic() + 30
        while not (port.exists() and port.read_text().strip()):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)
        self.address = f"127.0.0.1:{port.read_text().strip()}"

    def type(self, command, **more):
        return self.place.type(command, PENSTOCK_COORDINATOR=self.address, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        assert "hunter2" not in self.log.read_text()


@pytest.fixture(scope="session")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    subprocess.run([BIN / "make_demo_dataset", folder, "200", "4"], check=True, stdout=subprocess.DEVNULL)
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name[-1].isdigit())


@pytest.fixture(scope="module", params=[SeaweedFS, Moto], ids=["seaweedfs", "moto"])
def place(request, shards, tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    server = request.param(folder)
    try:
        server.upload(shards)
        yield Place(server, shards, folder)
    finally:
        server.kill()
