"""Each failure raises the right exception in time. These tests use the fake feeder."""
# ruff: noqa: PT012

import builtins
import os
import signal
import subprocess
import sys
import time

import pytest

import penstock
from fixtures import BIN, ended, labels
from penstock import _deadline


def test_a_feeder_that_ends_is_told_within_a_second_with_its_last_lines_and_the_loop_goes_on(fake):
    loader = fake("steps=5&rows=1&exit=3")
    loop = iter(loader)
    got = [int(next(loop)["label"][0]) for _ in range(3)]
    begin = time.monotonic()
    with pytest.raises(penstock.FeederDied, match=r"(?s)ended with exit code 3.*the disk is gone"):
        next(loop)
    assert time.monotonic() - begin < 1
    # Another feeder continues at the same place. Batch 3 of its stream is beyond the end of this loop.
    assert got + labels(loop) == [0, 1, 2, 3, 4]
    assert labels(loader)[:3] == [1000, 1001, 1002]


def test_a_killed_feeder_is_told_and_kept_batches_stay(fake):
    loader = fake("steps=5&rows=1&kill=2")
    kept = []
    with pytest.raises(penstock.FeederDied, match="was ended by SIGKILL"):
        for batch in loader:
            kept.append(batch)
    assert labels(kept) == [0, 1]
    loop = iter(loader)  # continues at the same place
    assert int(next(loop)["label"][0]) == 2
    assert labels(kept) == [0, 1]


def test_a_feeder_killed_between_two_batches_is_told_once(fake):
    import penstock._feeder as feeder

    loader = fake("steps=5&rows=1")
    loop = iter(loader)
    got = [int(next(loop)["label"][0])]
    process = feeder.current_feeder().process_id
    os.kill(process, signal.SIGKILL)
    assert ended(process)
    with pytest.raises(penstock.FeederDied):
        while True:
            got.append(int(next(loop)["label"][0]))
    assert got + labels(loop) == [0, 1, 2, 3, 4]


def test_who_was_stopped_did_not_wait_meanwhile(monkeypatch):
    now = 100.0
    monkeypatch.setattr(_deadline.time, "monotonic", lambda: now)
    deadline = _deadline.Deadline(600.0)
    now += 1.0
    assert deadline.left == 599.0
    now += 3600.0  # the process was stopped meanwhile
    assert 590.0 < deadline.left < 599.0
    for _ in range(1200):
        now += _deadline.PIECE
        left = deadline.left
    assert left <= 0.0


def test_silence_ends_in_a_timeout_that_says_what_is_missing_and_loses_nothing(fake):
    loader = fake("steps=3&rows=1&silent=1", timeout=0.3)
    loop = iter(loader)
    next(loop)
    begin = time.monotonic()
    with pytest.raises(penstock.TimeoutError, match="no batch for 0 s .*rows of no worker") as caught:
        next(loop)
    assert 0.25 < time.monotonic() - begin < 5
    assert isinstance(caught.value, builtins.TimeoutError)
    assert loader.state_dict()["state"] == "fake:0:1"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("DATA_LOSS", penstock.DataError),
        ("INVALID_ARGUMENT", penstock.DataError),
        ("FAILED_PRECONDITION", penstock.DataError),
        ("UNAVAILABLE", penstock.MachineError),
        ("DEADLINE_EXCEEDED", penstock.TimeoutError),
    ],
)
def test_a_batch_that_fails_is_tried_again_when_it_is_asked_for_again(fake, code, kind):
    loader = fake(f"steps=4&rows=1&fail=2:{code}")
    loop = iter(loader)
    got = [int(next(loop)["label"][0]), int(next(loop)["label"][0])]
    with pytest.raises(kind, match="train-3 record 7: crc") as caught:
        next(loop)
    assert caught.value.code == code
    assert got + labels(loop) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("NOT_FOUND", penstock.ConfigurationError),
        ("FAILED_PRECONDITION", penstock.ConfigurationError),
        ("DATA_LOSS", penstock.DataError),
        ("UNAVAILABLE", penstock.MachineError),
    ],
)
def test_what_a_job_cannot_be_opened_for_is_said(fake, code, kind):
    loader = fake(f"open={code}")
    with pytest.raises(kind, match="no job fake; there are others"):
        next(iter(loader))
    with pytest.raises(kind):
        len(loader)


@pytest.mark.parametrize("kind", ["type", "short", "header", "columns", "skipped", "json", "unknown"])
def test_a_packet_that_the_protocol_does_not_allow_is_refused(fake, kind):
    loop = iter(fake(f"steps=4&rows=1&garbage=1:{kind}", timeout=5))
    next(loop)
    with pytest.raises(penstock.MachineError, match="the feeder sent"):
        next(loop)


@pytest.mark.parametrize("kind", ["offset", "bytes"])
def test_a_column_outside_of_the_arena_is_refused(fake, kind):
    loop = iter(fake(f"steps=4&rows=1&garbage=1:{kind}", timeout=5))
    next(loop)
    batch = next(loop)
    with pytest.raises(penstock.MachineError, match="the feeder sent"):
        batch["image"]


def test_a_feeder_of_another_protocol_is_refused(fake, monkeypatch):
    monkeypatch.setenv("FAKE_FEEDER_VERSION", "2")
    with pytest.raises(penstock.MachineError, match="version 2 of the protocol, not 1"):
        len(fake())


def test_a_program_that_is_no_feeder_is_said_with_its_words(fake, tmp_path, monkeypatch):
    program = tmp_path / "old"
    program.write_text("#!/bin/sh\necho 'penstock: no such command: feed' >&2\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(program))
    with pytest.raises(penstock.FeederDied, match=r"(?s)exit code 2.*no such command: feed"):
        len(fake())


def test_a_program_that_is_not_there_is_said(fake, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", "/nowhere/penstock")
    with pytest.raises(penstock.ConfigurationError, match="PENSTOCK_PROGRAM=/nowhere/penstock"):
        len(fake())
    monkeypatch.delenv("PENSTOCK_PROGRAM")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(penstock.ConfigurationError, match="pip install penstock"):
        len(fake())


def test_the_wheels_own_program_comes_first(tmp_path, monkeypatch):
    import penstock._program as program

    (tmp_path / "penstock").write_text("")
    (tmp_path / "penstock").chmod(0o755)
    monkeypatch.setattr(program, "_BUNDLED", tmp_path)
    monkeypatch.setenv("PENSTOCK_PROGRAM", "/nowhere/penstock")
    assert penstock.find_program() == str(tmp_path / "penstock")


def test_the_package_runs_as_the_command(monkeypatch):
    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "penstock", *arguments], capture_output=True, text=True, check=False)

    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    done = run("read", "--help")
    assert (done.returncode, done.stdout[:21]) == (0, "usage: penstock read "), done
    done = run("sumbit", "train.textproto")
    assert done.returncode != 0
    assert "penstock: there is no command 'sumbit' (did you mean 'submit'?)" in done.stderr
    done = run("convert", "--out", "shards")  # this one is in Python
    assert done.returncode == 2
    assert done.stderr.startswith("penstock convert: the following arguments are required: source\n")
    monkeypatch.setenv("PENSTOCK_PROGRAM", "/nowhere/penstock")
    done = run("status")
    assert done.returncode == 1
    assert done.stderr.startswith("penstock: PENSTOCK_PROGRAM=/nowhere/penstock: /nowhere/penstock cannot be executed. Set ")


def test_arguments_that_are_wrong_are_said_when_they_are_given(fake):
    for arguments, message in (
        ({"batch_size": -1}, "batch_size=-1"),
        ({"timeout": 0}, "timeout=0"),
        ({"memory": "4 gigs"}, "memory='4 gigs' is no size"),
        ({"rank": 1}, "rank=1, world_size=None"),
        ({"rank": 2, "world_size": 2}, "rank 2 of 2"),
    ):
        with pytest.raises(penstock.ConfigurationError, match=message):
            fake(**arguments)
    with pytest.raises(penstock.ConfigurationError, match="not int"):
        penstock.Loader(5)
    with pytest.raises(TypeError):
        penstock.Loader("train", coordinator="x:1", epoch=3)


def test_the_loaders_of_a_process_share_one_feeder_and_its_options(fake):
    first = fake(memory="8MiB")
    len(first)
    len(fake())
    with pytest.raises(penstock.ConfigurationError, match="the loaders of a process share one feeder"):
        len(fake(memory="16MiB"))
    penstock.shutdown()
    len(fake(memory="16MiB"))


def test_the_feeders_answer_to_a_broken_trainer_is_in_the_error(fake):
    loader = fake()
    loop = iter(loader)
    next(loop)
    loader._core.stream._socket.send(b"\x63\0\0\0\0\0\0\0")
    with pytest.raises(penstock.FeederDied, match="a packet of type 99 on a loader's socket") as caught:
        while True:
            next(loop)
    assert caught.value.code == "INVALID_ARGUMENT"


def test_a_data_loaders_worker_is_refused_with_the_reason(fake, monkeypatch):
    class Workers:
        @staticmethod
        def get_worker_info():
            return object()

    monkeypatch.setitem(sys.modules, "torch.utils.data", Workers)
    with pytest.raises(penstock.ConfigurationError, match="does not run inside a worker of torch"):
        next(iter(fake()))


def test_a_process_that_ends_leaves_no_feeder_and_says_nothing(fake):
    script = (
        "import penstock, penstock._feeder as f\n"
        "loader = penstock.Loader('fake?steps=100', coordinator='x:1')\n"
        "loop = iter(loader)\n"
        "kept = [next(loop) for _ in range(3)]\n"
        "image = kept[0]['image']\n"
        "print(f.current_feeder().process_id)\n"
    )
    done = subprocess.run([sys.executable, "-X", "dev", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert ended(int(done.stdout))
