"""Clusters over TLS: the same rows as in plaintext, errors that name the argument, and files that change under a loop."""

import contextlib
import hashlib
import itertools
import subprocess
from typing import NamedTuple

import pytest
from free_port import free_port

import penstock
from fixtures import BIN
from penstock import _feeder
from served import standalone


def make_certificates(folder):
    """Makes a new authority in `folder`, with certificates of a server and a trainer. Replaces an older one."""
    folder.mkdir(exist_ok=True)
    subprocess.run([BIN / "make_certificates", folder, "server", "trainer"], check=True)
    return folder


def files_of(folder):
    """Returns the arguments of a trainer."""
    return {"tls_ca": folder / "ca.pem", "tls_cert": folder / "trainer.pem", "tls_key": folder / "trainer.key"}


class Secure(NamedTuple):
    coordinator: str
    tls: dict

    @property
    def connection(self):
        return {"coordinator": self.coordinator, **self.tls}


@contextlib.contextmanager
def secure_standalone(small_files, folder, certificates, *flags, port=0):
    """Runs a cluster that serves TLS to clients with a certificate."""
    ca = ["--tls-ca", certificates / "ca.pem"]
    server = ["--tls-cert", certificates / "server.pem", "--tls-key", certificates / "server.key"]
    client = ["--tls-cert", certificates / "trainer.pem", "--tls-key", certificates / "trainer.key"]
    with standalone(small_files, folder, *ca, *server, *flags, connection=[*ca, *client], port=port) as address:
        yield Secure(address, files_of(certificates))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def network(small_files, tmp_path_factory, certificates):
    """A cluster without shared memory, so that rows cross the network."""
    with secure_standalone(small_files, tmp_path_factory.mktemp("network"), certificates, "--socket-dir", "") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def shared_memory(small_files, tmp_path_factory, certificates):
    with secure_standalone(small_files, tmp_path_factory.mktemp("shared"), certificates) as cluster:
        yield cluster


@pytest.fixture(params=["network", "shared_memory"])
def secure(request, small_job):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def plaintext(small_files, tmp_path_factory):
    with standalone(small_files, tmp_path_factory.mktemp("plaintext"), "--socket-dir", "") as address:
        yield address


def digest(loop):
    """Returns the number of batches, and a hash of their rows."""
    total, batches = hashlib.sha256(), 0
    for batch in loop:
        batches += 1
        for array in (batch.ids, batch["image"], batch["label"]):
            total.update(array.tobytes())
    return batches, total.hexdigest()


def test_a_tls_cluster_delivers_the_rows_of_a_plaintext_cluster(secure, plaintext):
    loader = penstock.Loader("small", **secure.connection, epochs=2)
    assert digest(loader) == digest(penstock.Loader("small", coordinator=plaintext, epochs=2))


def test_the_environment_names_the_files_of_loaders_without_arguments(network, small_job, plaintext, monkeypatch):
    for name, path in network.tls.items():
        monkeypatch.setenv(f"PENSTOCK_{name.upper()}", str(path))
    monkeypatch.setenv("PENSTOCK_COORDINATOR", network.coordinator)
    read = digest(penstock.Loader("small"))
    assert [job["name"] for job in penstock.status()["jobs"]] == ["small"]
    for name in ("COORDINATOR", "TLS_CA", "TLS_CERT", "TLS_KEY"):
        monkeypatch.delenv(f"PENSTOCK_{name}")
    penstock.shutdown()  # the feeder has the environment of its start
    assert read == digest(penstock.Loader("small", coordinator=plaintext))


def test_two_loaders_of_a_process_read_a_tls_and_a_plaintext_cluster(network, small_job, plaintext):
    loaders = [penstock.Loader("small", **network.connection), penstock.Loader("small", coordinator=plaintext)]
    feeders, pairs = set(), 0
    for secured, plain in zip(*loaders):
        assert digest([secured]) == digest([plain])
        pairs += 1
        feeders.add(_feeder.current_feeder().process_id)
    assert (pairs, len(feeders)) == (5, 1)


def test_submit_status_and_cancel_over_tls(network, small_job):
    job = penstock.Job.load(small_job.path)
    job.name = "another"
    assert penstock.submit(job, **network.connection)["state"] == "READY"
    assert {entry["name"] for entry in penstock.status(**network.connection)["jobs"]} == {"small", "another"}
    penstock.cancel("another", **network.connection)
    with pytest.raises(penstock.ConfigurationError, match="another was cancelled|no job"):
        len(penstock.Loader("another", **network.connection))


# ---- errors


def read(coordinator, **tls):
    return len(penstock.Loader("small", coordinator=coordinator, timeout=10, **tls))


def ask(coordinator, **tls):
    return penstock.status(coordinator=coordinator, **tls)


@pytest.fixture(params=[read, ask], ids=["loader", "command"])
def connect(request):
    return request.param


def test_without_a_ca_the_error_names_tls_ca(network, small_job, connect):
    with pytest.raises(penstock.MachineError if connect is ask else penstock.TimeoutError, match="tls_ca= in Python"):
        connect(network.coordinator)


def test_with_another_authoritys_ca_the_error_names_the_file_and_tls_ca(network, small_job, connect, tmp_path):
    ca = make_certificates(tmp_path / "stranger") / "ca.pem"
    with pytest.raises((penstock.MachineError, penstock.TimeoutError), match=f"{ca}.* --tls-ca"):
        connect(network.coordinator, tls_ca=ca)


def test_without_a_clients_certificate_the_error_names_tls_cert_and_tls_key(network, small_job, connect, certificates):
    with pytest.raises(penstock.ConfigurationError, match="tls_cert= and tls_key= in Python") as caught:
        connect(network.coordinator, tls_ca=certificates / "ca.pem")
    assert caught.value.code == "UNAUTHENTICATED"


def test_a_certificate_without_a_ca_and_files_that_are_no_certificates_are_rejected_at_once(
    network, small_job, connect, certificates, tmp_path
):
    tls = files_of(certificates)
    with pytest.raises(penstock.ConfigurationError, match=f"{tls['tls_cert']} .*tls_ca= in Python"):
        connect(network.coordinator, tls_cert=tls["tls_cert"], tls_key=tls["tls_key"])
    for name, path in tls.items():
        with pytest.raises(penstock.ConfigurationError, match=f"{tmp_path}/no.pem"):
            connect(network.coordinator, **{**tls, name: tmp_path / "no.pem"})
        (tmp_path / "bad.pem").write_text("no certificate")
        with pytest.raises(penstock.ConfigurationError, match=f"{tmp_path}/bad.pem.*PEM"):
            connect(network.coordinator, **{**tls, name: tmp_path / "bad.pem"})


def test_a_loader_with_a_ca_rejects_a_plaintext_cluster(plaintext, small_job, connect, certificates):
    with pytest.raises((penstock.MachineError, penstock.TimeoutError), match=str(certificates / "ca.pem")):
        connect(plaintext, tls_ca=certificates / "ca.pem")


# ---- files that change


def test_a_running_loop_uses_rotated_files_for_new_connections(small_job, small_files, tmp_path, plaintext):
    """The authority changes too: a cluster that starts afterwards rejects every older certificate."""
    certificates = make_certificates(tmp_path / "certificates")
    folder = tmp_path / "cluster"
    folder.mkdir()
    epochs = 20
    arguments = {"epochs": epochs, "prefetch_steps": 2}  # the loop needs more steps after the cluster's start
    port = free_port()
    with secure_standalone(small_files, folder, certificates, "--socket-dir", "", port=port) as cluster:
        loader = penstock.Loader("small", **cluster.connection, **arguments)
        loop = iter(loader)
        first = list(itertools.islice(loop, 2))
        make_certificates(certificates)
        first += itertools.islice(loop, 2)  # on the open connections
    with secure_standalone(small_files, folder, certificates, "--socket-dir", "", port=port):
        got = digest(itertools.chain(first, loop))
    assert got == digest(penstock.Loader("small", coordinator=plaintext, **arguments))
    assert got[0] == 5 * epochs
