"""Real jobs: read here and served, by one rank and by several, resumed at every step."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import penstock
from fixtures import BIN, eventually


@pytest.fixture(scope="module")
def served(small_files, tmp_path_factory):
    """The address of a penstockd standalone that serves the job `small`."""
    folder = tmp_path_factory.mktemp("served")
    port = folder / "port"
    with open(folder / "log", "w") as log:
        daemon = subprocess.Popen(
            [BIN / "penstockd", "standalone", "--listen", "127.0.0.1:0", "--port-file", port, "--state-dir",
             folder / "state", "--data-root", small_files.data],
            stdout=log, stderr=log,
        )
    try:
        def ready():
            assert daemon.poll() is None, (folder / "log").read_text()
            return port.exists()

        assert eventually(ready, 60), (folder / "log").read_text()
        address = f"127.0.0.1:{port.read_text().strip()}"
        subprocess.run([BIN / "penstock", "submit", small_files.path, "--coordinator", address], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)
        yield address
    finally:
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()


@pytest.fixture(params=["here", "served"])
def make(request, small_job):
    if request.param == "here":
        return lambda **arguments: penstock.Loader(small_job.path, data_root=small_job.data, **arguments)
    address = request.getfixturevalue("served")
    return lambda **arguments: penstock.Loader("small", coordinator=address, **arguments)


def rows(loop):
    """What a loop received, in memory of its own."""
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
    # Behind the end the next two epochs come, not the last one again.
    fresh.load_state_dict(states[10])
    assert fresh.epoch == 2
    assert same(rows(fresh), rows(make(epochs=2, start_epoch=2)))


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
    request = other._job
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


def test_what_is_wrong_is_said_in_the_daemons_words(make, small_job, served, tmp_path):
    with pytest.raises(penstock.ConfigurationError, match="no job called nothing|nothing"):
        len(penstock.Loader("nothing", coordinator=served))
    with pytest.raises(penstock.PenstockError, match="127.0.0.1:1"):
        len(penstock.Loader("small", coordinator="127.0.0.1:1", timeout=15))
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
