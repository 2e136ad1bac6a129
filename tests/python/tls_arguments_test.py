"""tls_ca, tls_cert, tls_key and token_file: how they reach the programs. These tests use the fake feeder and no coordinator."""

import json
import pickle
import sys
from pathlib import Path

import pytest

import penstock

CALLS = [
    lambda **connection: penstock.submit("job.textproto", **connection),
    penstock.status,
    lambda **connection: penstock.cancel("job", **connection),
]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("COORDINATOR", "TLS_CA", "TLS_CERT", "TLS_KEY", "TOKEN_FILE"):
        monkeypatch.delenv(f"PENSTOCK_{name}", raising=False)


@pytest.fixture
def arguments_of(tmp_path, monkeypatch):
    """Makes a program that only records its arguments. Returns a function that returns those of a call."""
    program, record = tmp_path / "penstock", tmp_path / "arguments"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\nopen({str(record)!r}, 'w').write(json.dumps(sys.argv[1:]))\nprint('{{}}')\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(program))

    def call(function, **connection):
        function(**connection)
        return json.loads(record.read_text())

    return call


def opened_with(loader):
    """Returns the members of OPEN that name the job and its connection."""
    return loader._core.settings.job


# ---- loaders


def test_open_has_the_paths_made_absolute(fake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    loader = fake(tls_ca="ca.pem", tls_cert=Path("me/cert.pem"), tls_key="~/key.pem", token_file="me.token")
    assert opened_with(loader) == {
        "job": "fake?",
        "coordinator": "nowhere:1",
        "tls_ca": str(tmp_path / "ca.pem"),
        "tls_cert": str(tmp_path / "me" / "cert.pem"),
        "tls_key": "/home/me/key.pem",
        "token_file": str(tmp_path / "me.token"),
    }


def test_system_selects_the_trust_store_and_a_path_of_that_name_does_not(fake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert opened_with(fake(tls_ca="system"))["tls_ca"] == "system"
    assert opened_with(fake(tls_ca=Path("system")))["tls_ca"] == str(tmp_path / "system")


def test_without_arguments_open_has_none_and_the_feeders_environment_decides(fake, monkeypatch):
    monkeypatch.setenv("PENSTOCK_TLS_CA", "/etc/ca.pem")
    assert opened_with(fake()) == {"job": "fake?", "coordinator": "nowhere:1"}


def test_each_loader_has_its_own_files_and_the_feeder_starts_without_any(fake):
    import penstock._feeder as feeder

    loaders = [fake("steps=1", tls_ca="/one/ca.pem"), fake("steps=1", tls_ca="/other/ca.pem"), fake("steps=1")]
    assert [len(list(loader)) for loader in loaders] == [1, 1, 1]
    assert [opened_with(loader).get("tls_ca") for loader in loaders] == ["/one/ca.pem", "/other/ca.pem", None]
    process = Path("/proc", str(feeder.current_feeder().process_id))
    for name in ("cmdline", "environ"):
        assert b"ca.pem" not in (process / name).read_bytes()


def test_a_pickled_loader_keeps_them(fake, tmp_path, monkeypatch):
    folder = Path.cwd()
    loader = fake(tls_ca="ca.pem", tls_cert="cert.pem", tls_key="key.pem")
    monkeypatch.chdir(tmp_path)
    assert opened_with(pickle.loads(pickle.dumps(loader))) == opened_with(loader)
    assert opened_with(loader)["tls_key"] == str(folder / "key.pem")


def test_a_job_of_the_environments_coordinator_takes_them(fake, monkeypatch):
    monkeypatch.setenv("PENSTOCK_COORDINATOR", "prep:7070")
    assert opened_with(penstock.Loader("train", tls_ca="system")) == {"job": "train", "tls_ca": "system"}


@pytest.mark.parametrize("coordinator", [None, "prep:7070"])
def test_a_job_that_is_read_without_a_coordinator_rejects_them(small_job, monkeypatch, coordinator):
    if coordinator is not None:  # which serves jobs by name
        monkeypatch.setenv("PENSTOCK_COORDINATOR", coordinator)
    said = r"^tls_ca: this is for the connection to a coordinator, .* coordinator='HOST:PORT' .* or leave out tls_ca$"
    for job in (small_job.path, penstock.Job.load(small_job.path)):
        with pytest.raises(penstock.ConfigurationError, match=said):
            penstock.Loader(job, data_root=small_job.data, tls_ca="ca.pem")
    with pytest.raises(penstock.ConfigurationError, match="^tls_cert and tls_key: this is for"):
        penstock.Loader(small_job.path, tls_cert="cert.pem", tls_key="key.pem")


# ---- commands


@pytest.mark.parametrize("call", CALLS)
def test_commands_get_them_as_flags(arguments_of, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {"tls_ca": "system", "tls_cert": "cert.pem", "tls_key": Path("/my/key.pem"), "token_file": "/my/token"}
    flags = arguments_of(call, coordinator="prep:7070", **files)
    assert flags[: flags.index("--") if "--" in flags else None][-5:] == [
        "--coordinator=prep:7070",
        "--tls-ca=system",
        f"--tls-cert={tmp_path / 'cert.pem'}",
        "--tls-key=/my/key.pem",
        "--token-file=/my/token",
    ]
    assert not [flag for flag in arguments_of(call) if flag.startswith(("--coordinator", "--t"))]


# ---- mistakes


@pytest.fixture(params=["loader", "submit", "status", "cancel"])
def connect(request, fake):
    if request.param == "loader":
        return fake
    call = CALLS[("submit", "status", "cancel").index(request.param)]
    return lambda **connection: call(coordinator="nowhere:1", **connection)


@pytest.mark.parametrize("name", ["tls_ca", "tls_cert", "tls_key", "token_file"])
def test_another_type_and_an_empty_path_are_rejected_by_name(connect, name):
    with pytest.raises(penstock.ConfigurationError, match=f"^{name}=3: a path is expected"):
        connect(**{name: 3})
    with pytest.raises(penstock.ConfigurationError, match=f"^{name}='': the path of a .*file.* is expected"):
        connect(**{name: ""})


def test_a_certificate_without_its_key_is_rejected_unless_the_environment_has_it(fake, connect, monkeypatch):
    with pytest.raises(penstock.ConfigurationError, match=r"^tls_cert='/a.pem' without tls_key: .* Give tls_key= too$"):
        connect(tls_ca="system", tls_cert="/a.pem")
    with pytest.raises(penstock.ConfigurationError, match=r"^tls_key='/a.key' without tls_cert: .* Give tls_cert= too$"):
        connect(tls_ca="system", tls_key="/a.key")
    monkeypatch.setenv("PENSTOCK_TLS_KEY", "/a.key")
    assert opened_with(fake(tls_ca="system", tls_cert="/a.pem"))["tls_cert"] == "/a.pem"
