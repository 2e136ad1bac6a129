"""`penstock fetch`: its answers, and the files that Python reads through it."""

import json
import os
import signal
import struct
import subprocess
import threading

import pytest

from fixtures import BIN
from penstock import _remote_files


class Fetch:
    """The program, and requests to it."""

    def __init__(self):
        self.process = subprocess.Popen([BIN / "penstock", "fetch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, request):
        """Returns whether the request failed, and the answer's body."""
        self.process.stdin.write(request.encode() + b"\n")
        self.process.stdin.flush()
        failed, length = struct.unpack("<BQ", self.process.stdout.read(9))
        return bool(failed), self.process.stdout.read(length)

    def error(self, request):
        failed, body = self.ask(request)
        assert failed, body
        return json.loads(body)

    def stat(self, name):
        failed, body = self.ask(f"stat {name}")
        assert not failed, body
        found = json.loads(body)
        return f"{found['size']} {found['state']}"


@pytest.fixture
def fetch():
    made = Fetch()
    yield made
    made.process.stdin.close()
    assert made.process.wait(30) == 0


def test_reads_any_range(fetch, tmp_path):
    data = os.urandom(20 << 20)
    path = tmp_path / "a name with spaces"
    path.write_bytes(data)
    facts = fetch.stat(path)
    assert facts.startswith(f"{len(data)} ")
    for begin, length in [(0, 0), (0, 1), (5, 9 << 20), (0, len(data)), (len(data) - 3, 10), (len(data) + 5, 10), (1 << 62, 1)]:
        assert fetch.ask(f"read {begin} {length} {facts} {path}") == (False, data[begin : begin + length])


def test_lists_folders(fetch, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "b").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("b")
    failed, body = fetch.ask(f"list {tmp_path}")
    assert not failed
    kinds = {entry["name"]: entry["kind"] for entry in json.loads(body)["entries"]}
    assert kinds == {"inner": "folder", "b": "file", "link": "other"}
    assert json.loads(fetch.ask(f"stat {tmp_path}/inner")[1])["kind"] == "folder"


def test_a_file_that_changed_is_an_error(fetch, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"before")
    facts = fetch.stat(path)
    assert fetch.ask(f"read 0 6 {facts} {path}") == (False, b"before")
    os.replace(path, tmp_path / "y")
    path.write_bytes(b"after it")
    # The file stays open, so its bytes are still those of the named state.
    assert fetch.ask(f"read 0 6 {facts} {path}") == (False, b"before")
    for number in range(4):  # the program keeps four files open
        (tmp_path / str(number)).write_bytes(b"z")
        fetch.ask(f"read 0 1 {fetch.stat(tmp_path / str(number))} {tmp_path / str(number)}")
    assert fetch.error(f"read 0 6 {facts} {path}") == {
        "code": "ABORTED",
        "message": f"{path} has changed since it was listed; convert it into another folder",
    }
    assert fetch.ask(f"read 0 8 {fetch.stat(path)} {path}") == (False, b"after it")


@pytest.mark.parametrize(
    ("request_line", "words"),
    [
        ("", "a request is `stat NAME`"),
        ("stat", "a request is `stat NAME`"),
        ("read 0 1 /x", "a request is `stat NAME`"),
        ("read -1 1 1 1 /x", "a request is `stat NAME`"),
        ("read 0 2000000000 1 1 /x", "read of 2000000000 bytes: at most 1073741824"),
        ("read 0 1 1 1 /no/such/file", "/no/such/file"),
        ("stat /no/such/file", "/no/such/file"),
        ("list /no/such/folder", "/no/such/folder"),
        ("stat nonsense://x", "nonsense://x"),
        ("list s3://", "s3://"),
    ],
)
def test_a_wrong_request_has_an_answer_and_the_next_one_too(fetch, tmp_path, request_line, words):
    assert words in fetch.error(request_line)["message"]
    (tmp_path / "x").write_bytes(b"ok")
    assert fetch.ask(f"read 0 2 {fetch.stat(tmp_path / 'x')} {tmp_path / 'x'}") == (False, b"ok")


def test_python_reads_at_any_place(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setattr(_remote_files, "is_remote", lambda name: True)
    monkeypatch.setattr(_remote_files, "_MOST_BYTES", 1000)
    data = os.urandom(5000)
    (tmp_path / "x").write_bytes(data)
    with _remote_files.open_file(str(tmp_path / "x")) as buffered, _remote_files.open_unbuffered(str(tmp_path / "x")) as file:
        for reader in (buffered, file):
            assert reader.read(10) == data[:10]
            assert reader.seek(-8, os.SEEK_END) == 4992
            assert reader.read() == data[-8:]
            assert reader.read(5) == b""
            assert reader.seek(100) == 100
            assert reader.seek(-50, os.SEEK_CUR) == 50
            assert reader.read(4000) == data[50:4050]
            part = bytearray(100)
            reader.seek(4950)
            assert reader.readinto(part) == 50
            assert part[:50] == data[4950:]


def test_a_program_that_dies_is_named_and_the_next_one_reads(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setattr(_remote_files, "is_remote", lambda name: True)
    (tmp_path / "x").write_bytes(b"abc")
    with _remote_files.open_unbuffered(str(tmp_path / "x")) as file:
        running = _remote_files._running
        assert running is not None
        running._process.kill()
        running._process.wait()
        with pytest.raises(_remote_files.MachineError, match="penstock fetch was ended by SIGKILL"):
            file.read()
        file.seek(0)
        assert file.read() == b"abc"


def test_an_interrupted_request_does_not_shift_the_next_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setattr(_remote_files, "is_remote", lambda name: True)
    for name in "ab":
        (tmp_path / name).write_bytes(name.encode() * 500)
    assert _remote_files.facts_of(str(tmp_path / "a")).size == 500
    program = _remote_files._running
    os.kill(program._process.pid, signal.SIGSTOP)
    monkeypatch.setattr(program, "_exactly", lambda size: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        _remote_files.facts_of(str(tmp_path / "a"))
    (tmp_path / "b").write_bytes(b"b" * 7)
    assert _remote_files.facts_of(str(tmp_path / "b")).size == 7


def test_threads_get_their_own_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setattr(_remote_files, "is_remote", lambda name: True)
    wrong = []

    def read(name):
        with _remote_files.open_unbuffered(str(tmp_path / name)) as file:
            for _ in range(200):
                file.seek(0)
                wrong.extend([] if file.read() == name.encode() * 1000 else [name])

    for name in "ab":
        (tmp_path / name).write_bytes(name.encode() * 1000)
    threads = [threading.Thread(target=read, args=(name,)) for name in "abab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_wildcards_are_those_of_a_bucket(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    with pytest.raises(_remote_files.ConfigurationError, match=r"\*\* does not work in a bucket; name the folder"):
        _remote_files.remote_files("s3://bucket/x/**/a.parquet", (".parquet",), _remote_files.entries_of)
