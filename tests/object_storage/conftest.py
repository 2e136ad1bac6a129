"""Storages by other projects, started here, with a small data set in a bucket; and the programs."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import boto3
import pytest
import requests
from azure.core.exceptions import AzureError
from azure.storage.blob import BlobServiceClient
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from network import Network

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support" / "cluster"))
from free_port import free_port

# The machine's own settings must not affect the tests.
for variable in [name for name in os.environ if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "STORAGE_"))]:
    del os.environ[variable]
os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1,localhost"

HERE = Path(__file__).resolve().parent
BIN = Path(os.environ["PENSTOCK_BIN"])
KEYS = {"AWS_ACCESS_KEY_ID": "penstock-tests", "AWS_SECRET_ACCESS_KEY": "hunter2-hunter2", "AWS_REGION": "us-east-1"}
BUCKET = "train"
TROUBLES = (AzureError, BotoCoreError, ClientError, OSError, requests.RequestException, boto3.exceptions.S3UploadFailedError)
SECRETS = ("hunter2", base64.b64encode(b"hunter2-hunter2").decode()[:16])


class Server:
    """A storage that can be killed, and restarted on its port with its content."""

    survives = True  # whether its content survives a kill
    more_ports = 0  # ports besides that of its API

    def __init__(self, folder):
        self.folder = folder
        self.port, *self.others = (free_port() for _ in range(1 + self.more_ports))
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        with (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, start_new_session=True, env={**os.environ, **self.settings()}
            )
        end = time.monotonic() + 60
        while True:
            try:
                self.buckets()
                return
            except TROUBLES:
                assert self.process.poll() is None, (self.folder / "server.log").read_text()[-2000:]
                assert time.monotonic() < end, "the storage does not answer"
                time.sleep(0.2)

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def settings(self):
        return {}

    def name_as(self, url):
        """Sets the URL by which the storage names itself in its answers, if it does."""

    def upload(self, files):
        end = time.monotonic() + 60
        while True:  # SeaweedFS needs some time until it accepts data
            try:
                self.make_bucket()
                for file in files:
                    self.put(f"photos/{file.name}", file)
                return
            except TROUBLES:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)


class OfS3(Server):
    scheme = "s3"

    @property
    def environment(self):
        return {**KEYS, "AWS_ENDPOINT_URL_S3": self.url}

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

    def buckets(self):
        return self.client().list_buckets()

    def make_bucket(self):
        self.client().create_bucket(Bucket=BUCKET)

    def put(self, key, file):
        self.client().upload_file(str(file), BUCKET, key)

    def keys(self, prefix):
        found = self.client().list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return [entry["Key"] for entry in found.get("Contents", [])]

    def pending(self):
        """Returns the keys of incomplete multipart uploads."""
        return [entry["Key"] for entry in self.client().list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])]


class SeaweedFS(OfS3):
    more_ports = 7

    def command(self):
        identity = {
            "name": "tests",
            "credentials": [{"accessKey": KEYS["AWS_ACCESS_KEY_ID"], "secretKey": KEYS["AWS_SECRET_ACCESS_KEY"]}],
            "actions": ["Admin", "Read", "List", "Write"],
        }
        (self.folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        master, volume, filer, master_grpc, volume_grpc, filer_grpc, s3_grpc = self.others
        return [
            Path(sys.executable).parent / "weed", "server", f"-dir={data}", "-ip=127.0.0.1", "-s3", f"-s3.port={self.port}",
            f"-s3.config={self.folder / 's3.json'}", f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}",
            f"-master.port.grpc={master_grpc}", f"-volume.port.grpc={volume_grpc}", f"-filer.port.grpc={filer_grpc}",
            f"-s3.port.grpc={s3_grpc}", "-s3.port.iceberg=0", "-s3.port.lance=0",
            "-master.volumeSizeLimitMB=64", "-volume.max=60",
        ]  # fmt: skip


class Moto(OfS3):
    survives = False

    def command(self):
        return [Path(sys.executable).parent / "moto_server", "-H", "127.0.0.1", "-p", str(self.port)]


class FakeGcs(Server):
    """fake-gcs-server: Google's JSON API, without keys."""

    scheme = "gs"

    @property
    def environment(self):
        return {"STORAGE_EMULATOR_HOST": self.url}

    def command(self):
        return [
            os.environ["PENSTOCK_FAKE_GCS"], "-scheme", "http", "-host", "127.0.0.1", "-port", str(self.port),
            "-public-host", f"127.0.0.1:{self.port}", "-external-url", self.url, "-filesystem-root", self.folder / "data",
        ]  # fmt: skip

    def ask(self, method, path, **more):
        answer = requests.request(method, self.url + path, timeout=10, **more)
        answer.raise_for_status()
        return answer.json()

    def name_as(self, url):
        self.ask("PUT", "/_internal/config", json={"externalUrl": url})

    def buckets(self):
        return self.ask("GET", "/storage/v1/b", params={"project": "tests"})

    def make_bucket(self):
        self.ask("POST", "/storage/v1/b", params={"project": "tests"}, json={"name": BUCKET})

    def put(self, key, file):
        self.ask(
            "POST", f"/upload/storage/v1/b/{BUCKET}/o", params={"uploadType": "media", "name": key}, data=file.read_bytes()
        )

    def keys(self, prefix):
        found = self.ask("GET", f"/storage/v1/b/{BUCKET}/o", params={"prefix": prefix})
        return [entry["name"] for entry in found.get("items", [])]

    def pending(self):
        return []


class Azurite(Server):
    scheme = "az"
    account = "penstocktests"
    key = base64.b64encode(b"hunter2-hunter2-hunter2-hunter2!").decode()

    @property
    def environment(self):
        return {
            "AZURE_STORAGE_ACCOUNT": self.account,
            "AZURE_STORAGE_KEY": self.key,
            "AZURE_STORAGE_SERVICE_ENDPOINT": f"{self.url}/{self.account}",
        }

    def settings(self):
        return {"AZURITE_ACCOUNTS": f"{self.account}:{self.key}"}

    def command(self):
        return [
            os.environ["PENSTOCK_AZURITE"], "--blobHost", "127.0.0.1", "--blobPort", str(self.port),
            "--location", self.folder / "data", "--skipApiVersionCheck", "--disableTelemetry", "--silent",
        ]  # fmt: skip

    def upload(self, files):
        super().upload(files)
        end = time.monotonic() + 60
        while not self.is_saved(files):
            assert time.monotonic() < end, "the storage does not save its objects"
            time.sleep(0.1)

    def is_saved(self, files):
        """Whether the files would survive a kill. Azurite saves its index of blobs and of their bytes only every 5 s."""
        data = self.folder / "data"
        try:
            blobs = (data / "__azurite_db_blob__.json").read_text()
            extents = (data / "__azurite_db_blob_extent__.json").read_text()
        except FileNotFoundError:
            return False
        used = set(re.findall(r'"persistency":{"id":"([^"]+)"', blobs))
        return all(f'"photos/{file.name}"' in blobs for file in files) and all(f'"{extent}"' in extents for extent in used)

    def client(self):
        return BlobServiceClient(f"{self.url}/{self.account}", credential=self.key, retry_total=0, connection_timeout=2)

    def buckets(self):
        return list(self.client().list_containers())

    def make_bucket(self):
        self.client().create_container(BUCKET)

    def put(self, key, file):
        blob = self.client().get_blob_client(BUCKET, key)
        blob.upload_blob(file.read_bytes(), overwrite=True)  # without overwrite, Azurite rejects it if parts of a writer exist

    def keys(self, prefix):
        return [blob.name for blob in self.client().get_container_client(BUCKET).list_blobs(name_starts_with=prefix)]

    def pending(self):
        blobs = self.client().get_container_client(BUCKET).list_blobs(include=["uncommittedblobs"])
        return [blob.name for blob in blobs if blob.name not in self.keys("")]


class Place(NamedTuple):
    server: Server
    files: list  # the shards as local files
    folder: Path
    url: str = ""  # the URL that the programs use; "": the server's own

    def at(self, path):
        """Returns a URL in the bucket."""
        return f"{self.server.scheme}://{BUCKET}/{path}"

    def through(self, network):
        return self._replace(url=network.url)

    def environment(self, **more):
        named = self.server.environment.items()
        storage = {name: value.replace(self.server.url, self.url or self.server.url) for name, value in named}
        ours = {"PATH": f"{BIN}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.folder / "cache"), **storage}
        return {**os.environ, **ours, **more}

    def type(self, command, code=0, **environment):
        """Runs a command line and returns its output."""
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
        assert not any(secret in done.stdout + done.stderr for secret in SECRETS)
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
        assert not any(secret in self.log.read_text() for secret in SECRETS)


@pytest.fixture(scope="session")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    subprocess.run([BIN / "make_demo_dataset", folder, "200", "4"], check=True, stdout=subprocess.DEVNULL)
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name[-1].isdigit())


@pytest.fixture(scope="module", params=[SeaweedFS, Moto, FakeGcs, Azurite], ids=lambda kind: kind.__name__.lower())
def place(request, shards, tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    server = request.param(folder)
    try:
        server.upload(shards)
        yield Place(server, shards, folder)
    finally:
        server.kill()


@pytest.fixture
def network(place):
    between = Network(place.server.port)
    place.server.name_as(between.url)
    try:
        yield between
    finally:
        between.close()
        place.server.name_as(place.server.url)


@pytest.fixture
def far(place, network):
    """The place, seen through the network."""
    return place.through(network)
