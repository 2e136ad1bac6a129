"""Real jobs: read in this process and served, by one rank and by several, resumed at every step."""

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import penstock
from fixtures import BIN, Notices, ended, eventually
from served import standalone


@pytest.fixture(scope="module")
def served(small_files, tmp_path_factory):
    """The address of a penstockd standalone that serves the job `small`."""
    with standalone(small_files, tmp_path_factory.mktemp("served")) as address:
        yield address


@pytest.fixture(params=["here", "served"])
def make(request, small_job):
    if request.param == "here":
        return lambda **arguments: penstock.Loader(small_job.path, data_root=small_job.data, **arguments)
    address = request.getfixturevalue("served")
    return lambda **arguments: penstock.Loader("small", coordinator=address, **arguments)


def rows(loop):
    """Returns the rows of a loop, copied."""
    return [(batch.ids.copy(), batch["image"].copy(), batch["label"].copy()) for batch in loop]


def same(got, want):
    return len(got) == len(want) and all(np.array_equal(a, b) for x, y in zip(got, want) for a, b in zip(x, y))


def test_a_job_read_here_and_the_same_served_are_the_same_bytes(small_job, served):
    here = penstock.Loader(small_job.path, data_root=small_job.data)
    there = penstock.Loader("small", coordinator=served)
    for _ in range(2):
        assert same(rows(here), rows(there))
    assert here.state_dict() == there.state_dict()


def test_ranks_together_are_one_rank(make):
    whole = rows(make())
    halves = [rows(make(rank=rank, world_size=2)) for rank in range(2)]
    joined = [tuple(np.concatenate(pair) for pair in zip(*step)) for step in zip(*halves)]
    assert same(joined, whole)


def test_a_state_of_any_step_goes_on_exactly(make):
    loader = make(epochs=2)
    whole, states = [], [loader.state_dict()]
    for batch in loader:
        whole += rows([batch])
        states.append(loader.state_dict())
    fresh = make(epochs=2)
    for seen in (0, 1, 4, 5, 6, 9):
        fresh.load_state_dict(states[seen])
        assert same(rows(fresh), whole[seen:]), seen
    # After the end, the next two epochs follow; the last one is not repeated.
    fresh.load_state_dict(states[10])
    assert fresh.epoch == 2
    assert same(rows(fresh), rows(make(epochs=2, start_epoch=2)))


def test_the_number_of_a_step_is_its_place_in_the_epoch_also_after_a_resume(make):
    loader = make(epochs=2)
    loop = iter(loader)
    assert [next(loop).step, next(loop).step] == [0, 1]
    state = loader.state_dict()
    assert [batch.step for batch in loop] == [2, 3, 4, 0, 1, 2, 3, 4]
    for size, steps in ((20, [2, 3, 4]), (30, [2, 3]), (10, [4, 5, 6, 7, 8, 9])):
        resumed = make(batch_size=size)
        resumed.load_state_dict(state)
        assert [batch.step for batch in resumed] == steps


def test_another_batch_size_gives_the_same_rows(make):
    assert np.array_equal(
        np.concatenate([r[1] for r in rows(make())]), np.concatenate([r[1] for r in rows(make(batch_size=10))])
    )


def test_every_row_comes_exactly_once_an_epoch(make):
    loader = make()
    for _ in range(2):
        ids = np.concatenate([batch.ids.copy() for batch in loader])
        assert len(np.unique(ids, axis=0)) == len(ids) == 100


def test_a_kept_batch_is_kept_while_epochs_go_by(make):
    loader = make()
    loop = iter(loader)
    kept = next(loop)
    image, copy = kept["image"], kept["image"].copy()
    for _ in range(3):
        for _ in loader:
            pass
    assert (image == copy).all()


def test_memory_that_is_held_is_said_with_numbers_and_a_release_cures_it(make):
    loader = make(epochs=0, memory="8MiB")
    kept = []
    with pytest.raises(penstock.MachineError, match=r"holds \d+ batches") as caught:  # noqa: PT012
        for batch in loader:
            kept.append(batch)
            assert len(kept) < 1000
    assert caught.value.code == "RESOURCE_EXHAUSTED"
    count = len(kept)
    assert count >= 2
    expected = [batch.ids.copy() for batch in kept]
    kept.clear()
    del batch
    more = iter(make(epochs=0, memory="8MiB"))
    assert all((next(more).ids == ids).all() for ids in expected)


def test_a_loop_left_and_begun_again_is_the_next_epoch(make):
    loader = make()
    for batch in loader:
        if batch.step == 1:
            break
    assert same(rows(loader), rows(make(start_epoch=1)))


def test_two_loaders_interleaved(make):
    train, validation = make(), make(start_epoch=5)
    got, other = [], []
    for batch, second in zip(train, validation):
        got += rows([batch])
        other += rows([second])
    assert same(got, rows(make()))
    assert same(other, rows(make(start_epoch=5)))


def test_one_rank_that_is_killed_harms_no_other(make, small_job):
    other = make(rank=1, world_size=2)
    request = other._core.settings.job
    script = (
        "import sys, penstock\n"
        "job, arguments = eval(sys.argv[1])\n"
        "loop = iter(penstock.Loader(job, rank=0, world_size=2, **arguments))\n"
        "next(loop)\n"
        "print('begun', flush=True)\n"
        "sys.stdin.read()\n"
    )
    arguments = {"coordinator": request["coordinator"]} if "job" in request else {"data_root": small_job.data}
    rank = subprocess.Popen([sys.executable, "-c", script, repr((request.get("job") or small_job.path, arguments))],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert rank.stdout.readline() == "begun\n"
    loop = iter(other)
    got = rows([next(loop)])
    shm = set(os.listdir("/dev/shm"))
    rank.kill()
    rank.wait()
    rank.stdin.close()
    rank.stdout.close()
    got += rows(loop)
    assert same(got, rows(make(rank=1, world_size=2, group="again")))
    assert set(os.listdir("/dev/shm")) <= shm


RANK = """
import sys, penstock
loader = penstock.Loader("small", coordinator=sys.argv[1], rank=int(sys.argv[2]), world_size=4, group="killed feeders")
while True:
    try:
        for batch in loader:
            feeder = loader._core.stream.feeder.process_id
            print(repr((feeder, batch.epoch, batch.step, batch.ids.tolist())), flush=True)
            sys.stdin.readline()
    except penstock.FeederDied:
        pass
"""


def test_ranks_go_on_whatever_feeders_are_killed_in_whatever_order(small_job, served):
    whole = penstock.Loader(small_job.path, data_root=small_job.data, epochs=4)
    expected = [(batch.epoch, batch.step, batch.ids.tolist()) for batch in whole]
    trainers = [
        subprocess.Popen([sys.executable, "-c", RANK, served, str(rank)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True)
        for rank in range(4)
    ]
    # The ranks whose feeders are killed, in this order: 20 in all. A step separates two rounds, because a prefetched
    # batch may come from a feeder that has ended.
    rounds = [(1,), (0,), (3, 2), (0, 1, 2, 3), (2, 0, 1), (3, 1, 0, 2), (1, 2), (2, 1, 3)]
    steps = [ranks for killed in rounds for ranks in (killed, ())]
    got = []
    try:
        for killed in (*steps, ()):
            parts = [ast.literal_eval(trainer.stdout.readline()) for trainer in trainers]
            assert len({part[1:3] for part in parts}) == 1
            got.append((*parts[0][1:3], [row for part in parts for row in part[3]]))
            for rank in killed:
                os.kill(parts[rank][0], signal.SIGKILL)
                assert ended(parts[rank][0])
            # The ranks that lost their feeders ask first.
            for rank in (*killed, *(rank for rank in range(4) if rank not in killed)):
                trainers[rank].stdin.write("\n")
                trainers[rank].stdin.flush()
    finally:
        for trainer in trainers:
            trainer.kill()
            trainer.communicate()
    assert got == expected[: len(steps) + 1]


def test_opening_waits_for_a_coordinator_that_is_stopped_and_names_it(small_job, served):
    opened = []
    thread = threading.Thread(target=lambda: opened.extend(penstock.Loader("small", coordinator=served, timeout=300)))
    served.daemon.send_signal(signal.SIGSTOP)
    reader = subprocess.Popen([BIN / "penstock", "read", "small", "--coordinator", served, "--timeout", "300", "--steps", "1"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        with Notices() as notices:
            thread.start()
            said = rf"waiting (3 s )?to open: .*{served}.*(timed out|does not answer)"
            assert re.search(said, reader.stderr.readline())
            assert notices.wait(60)
            assert re.search(said, notices.texts[0])
        served.daemon.send_signal(signal.SIGCONT)
        thread.join(60)
        assert len(opened) == 5
        assert reader.wait(60) == 0
    finally:
        served.daemon.send_signal(signal.SIGCONT)
        reader.kill()
        reader.wait()
        reader.stderr.close()
        thread.join(60)


READ_TWICE = """
import logging, sys, threading, penstock
logging.basicConfig(format="%(message)s", stream=sys.stdout)
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), over.set())).start()
loops = [iter(penstock.Loader("small", coordinator=sys.argv[1], group=group, epochs=0)) for group in "ab"]
while not over.wait(0.05):  # a loader that is idle has no session
    for loop in loops:
        next(loop)
print("done", flush=True)
"""


@pytest.fixture
def anyones_folder():
    """A folder that every user may write to."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def test_why_rows_do_not_come_through_shared_memory_is_said_once_and_in_the_status(served, small_job, anyones_folder):
    sockets = list(Path(served.sockets).glob("*.sock"))
    assert len(sockets) == 1
    # A trainer of another user. If this process is not root, a trainer that may not connect.
    other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    sockets[0].chmod(0o600 if other else 0)
    trainer = subprocess.Popen([sys.executable, "-c", READ_TWICE, served], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, cwd="/", env={**os.environ, "XDG_CACHE_HOME": str(anyones_folder)}, **other)
    try:
        said = f"worker .* is on this host, but .* shared memory: {sockets[0]}: Permission denied. This process runs as user"

        def status(*flags):
            return subprocess.run([BIN / "penstock", "status", "--coordinator", served, *flags], capture_output=True, text=True,
                                  check=True, timeout=60).stdout

        assert eventually(lambda: re.search(said, status()), 60), status()
        notes = [session["note"] for job in json.loads(status("--json"))["jobs"] for session in job["sessions"]]
        assert any(re.match(said, note) for note in notes)
        trainer.stdin.write("\n")
        trainer.stdin.close()
        lines = trainer.stdout.readlines()
        assert lines[-1] == "done\n"
        assert len([line for line in lines if re.match(said, line)]) == 1, lines
    finally:
        sockets[0].chmod(0o600)
        trainer.kill()
        trainer.wait()
        trainer.stdout.close()


def test_what_is_wrong_is_said_in_the_daemons_words(make, small_job, served, tmp_path):
    with pytest.raises(penstock.ConfigurationError, match="no job called nothing|nothing"):
        len(penstock.Loader("nothing", coordinator=served))
    with pytest.raises(penstock.TimeoutError, match="127.0.0.1:1"):
        len(penstock.Loader("small", coordinator="127.0.0.1:1", timeout=3))
    (tmp_path / "bad.textproto").write_text("name: 'x'\nopz {}\n")
    with pytest.raises(penstock.ConfigurationError, match="opz"):
        len(penstock.Loader(tmp_path / "bad.textproto"))
    with pytest.raises(penstock.ConfigurationError, match="/nowhere"):
        len(penstock.Loader(small_job.path, data_root="/nowhere"))
    with pytest.raises(penstock.ConfigurationError, match="3"):
        len(make(rank=0, world_size=3))


def test_a_preview_of_a_job_without_pictures_is_its_rows(small_job, tmp_path):
    with penstock.ShardWriter(tmp_path / "numbers") as writer:
        for n in range(20):
            writer.write({"n": n + 1000})
    preview = penstock.preview(writer.result.job, records=3)
    assert preview.png is None
    assert re.search(r"n  int64  10[01]\d$", repr(preview), re.MULTILINE)
    assert preview._repr_png_() is None
    preview.save(tmp_path / "rows.txt")
    assert (tmp_path / "rows.txt").read_text() == preview.text


def test_a_preview_that_fails_says_why(small_job, tmp_path):
    with pytest.raises(penstock.PenstockError, match=r"nowhere|no such"):
        penstock.preview(tmp_path / "nowhere.textproto")
