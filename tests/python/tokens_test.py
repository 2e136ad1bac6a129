"""A cluster whose callers have tokens: the same rows as without, and errors that name the argument."""

import http.client
import re
import ssl
import subprocess

import pytest

import penstock
from fixtures import BIN
from served import standalone
from tls_test import digest, files_of, make_certificates


@pytest.fixture(autouse=True)
def programs(small_job):
    """Lets the package find the programs."""


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    """Returns the folder of a tokens file and of a file NAME.token for each name."""
    folder = tmp_path_factory.mktemp("tokens")
    for name, role, jobs in (("ops", "operator", "*"), ("alice", "trainer", "small"), ("bob", "trainer", "other")):
        command = [BIN / "penstock", "token", name, "--role", role, "--jobs", jobs, "--file", folder / "tokens"]
        (folder / f"{name}.token").write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return folder


@pytest.fixture(scope="module", params=["network", "shared_memory"])
def cluster(request, small_files, tmp_path_factory, tokens):
    flags = ["--tokens", tokens / "tokens"] + (["--socket-dir", ""] if request.param == "network" else [])
    ops = ["--token-file", tokens / "ops.token"]
    with standalone(small_files, tmp_path_factory.mktemp("cluster"), *flags, connection=ops) as address:
        yield address


@pytest.fixture(scope="module")
def plaintext(small_files, tmp_path_factory):
    with standalone(small_files, tmp_path_factory.mktemp("plaintext")) as address:
        yield address


def test_a_token_opens_the_rows_of_its_jobs(cluster, plaintext, tokens):
    loader = penstock.Loader("small", coordinator=cluster, token_file=tokens / "alice.token", epochs=2)
    assert digest(loader) == digest(penstock.Loader("small", coordinator=plaintext, epochs=2))


def test_loaders_of_one_process_have_their_own_tokens(cluster, tokens):
    first, denied = (
        penstock.Loader("small", coordinator=cluster, token_file=tokens / f"{name}.token") for name in ("alice", "bob")
    )
    assert digest(first)[0] == len(first)
    with pytest.raises(penstock.ConfigurationError, match="'bob' may not access job 'small', only other"):
        next(iter(denied))


def test_without_a_token_the_error_names_the_remedy(cluster, monkeypatch):
    monkeypatch.delenv("PENSTOCK_TOKEN_FILE", raising=False)
    with pytest.raises(penstock.PenstockError, match="--token-file"):
        next(iter(penstock.Loader("small", coordinator=cluster, timeout=10)))
    with pytest.raises(penstock.PenstockError, match="--token-file"):
        penstock.status(coordinator=cluster)


def test_submit_status_and_cancel_take_a_token(cluster, small_job, tokens):
    connection = {"coordinator": cluster, "token_file": tokens / "ops.token"}
    job = penstock.Job.load(small_job.path)
    job.name = "another"
    assert penstock.submit(job, **connection)["state"] == "READY"
    assert {entry["name"] for entry in penstock.status(**connection)["jobs"]} == {"small", "another"}
    penstock.cancel("another", **connection)
    with pytest.raises(penstock.PenstockError, match="needs the role trainer\\+submit or operator"):
        penstock.cancel("small", coordinator=cluster, token_file=tokens / "alice.token")


def test_https_pages_know_a_viewer_by_its_certificate_or_its_token(small_files, tmp_path, tokens):
    certificates = make_certificates(tmp_path / "certificates")
    files = files_of(certificates)
    listed = tmp_path / "tokens"
    listed.write_bytes((tokens / "tokens").read_bytes() + b"san:trainer.example viewer *\n")
    listed.chmod(0o600)
    flags = ["--tokens", listed, "--http", "127.0.0.1:0", "--tls-ca", certificates / "ca.pem"]
    server = ["--tls-cert", certificates / "server.pem", "--tls-key", certificates / "server.key"]
    ops = ["--token-file", tokens / "ops.token", "--tls-ca", certificates / "ca.pem"]
    (tmp_path / "cluster").mkdir()
    with standalone(small_files, tmp_path / "cluster", *flags, *server, connection=ops):
        port = int(re.search(r"HTTPS listens on \S+:(\d+)", (tmp_path / "cluster" / "log").read_text()).group(1))

        def get(path, certificate=None, token=None):
            context = ssl.create_default_context(cafile=str(files["tls_ca"]))
            if certificate is not None:
                context.load_cert_chain(*certificate)
            connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
            connection.request("GET", path, headers={} if token is None else {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

        viewer = (files["tls_cert"], files["tls_key"])
        assert get("/healthz")[0] == 200
        status, said = get("/metrics")
        assert status == 401
        assert "needs a token" in said
        assert get("/metrics", certificate=viewer)[0] == 200
        other = (certificates / "server.pem", certificates / "server.key")
        status, said = get("/metrics", certificate=other)
        assert status == 401
        assert "no line for the names in the caller's certificate" in said
        alice = (tokens / "alice.token").read_text().strip()
        status, said = get("/metrics", certificate=viewer, token=alice)
        assert status == 403
        assert "needs the role viewer or operator" in said
        assert get("/metrics", token=(tokens / "ops.token").read_text().strip())[0] == 200
