"""Forks, kills and long runs: nothing is lost, leaked or left behind. With the fake feeder and with the real one."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import penstock
from fixtures import ended, eventually


@pytest.fixture(params=["fake", "real"])
def make(request):
    """A function that makes a loader: of 5 steps of the fake feeder, or of the real one's job."""
    if request.param == "fake":
        fake = request.getfixturevalue("fake")
        return lambda **arguments: fake("steps=5&rows=4", **arguments)
    job = request.getfixturevalue("small_job")
    return lambda **arguments: penstock.Loader(job.path, data_root=job.data, **{"batch_size": 20, **arguments})


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def feeder_of(loader):
    assert loader.schema
    return loader._stream.feeder


def in_child(function):
    """The exit code of a fork that calls it: 0 where it returns True."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if function() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_forked_child_that_drops_batches_changes_no_byte_of_the_parents(make):
    loader = make()
    batches = list(loader)
    copies = [(batch["image"].copy(), batch["label"].copy(), batch.ids.copy(), batch.valid.copy()) for batch in batches]

    def child():
        images = [batch["image"] for batch in batches]
        batches.clear()
        del images
        gc.collect()
        loader.close()
        penstock.shutdown()
        return True

    assert in_child(child) == 0
    # The child has ended, so that what it had sent would be known to the feeder now: it still counts all of them as held.
    assert loader.stats()["feeder_held_batches"] == len(batches)
    # What is made next would lie where they were.
    for _ in range(3):
        for batch in loader:
            assert batch.rows
    for batch, copy in zip(batches, copies):
        for now, then in zip((batch["image"], batch["label"], batch.ids, batch.valid), copy):
            assert now.tobytes() == then.tobytes()
    # And those that the parent drops do go back.
    del batch, now
    batches.clear()
    assert eventually(lambda: loader.stats()["feeder_held_batches"] == 0)


def test_in_a_forked_child_next_is_an_error_and_a_loader_of_its_own_works(make):
    loader = make()
    loop = iter(loader)
    first = next(loop).ids.copy()

    def child():
        try:
            next(loop)
        except penstock.PenstockError as error:
            if "this is a fork of it" not in str(error):
                return False
        else:
            return False
        own = make()
        assert (next(iter(own)).ids == first).all()
        penstock.shutdown()
        return True

    assert in_child(child) == 0
    assert len(list(loop)) == len(loader) - 1


TRAINER = """
import ctypes, os, sys
import penstock
job, arguments = eval(sys.argv[1])
loader = penstock.Loader(job, **arguments)
kept = [next(iter(loader))]
c = ctypes.PyDLL(None)
child = os.fork() if sys.argv[2] == "python" else c.fork()
if child:
    print(loader._stream.feeder.process_id, child, flush=True)
c.pause()
"""


def seconds_until_a_killed_trainers_feeder_ends(loader, fork):
    """The trainer has a forked child that lives on; one that C code has made has its sockets too."""
    arguments = {"coordinator": "x:1"} if "job" in loader._job else {"data_root": loader._request["data_roots"][0]}
    job = loader._job.get("job") or loader._job["job_file"]
    trainer = subprocess.Popen(
        [sys.executable, "-c", TRAINER, repr((job, arguments)), fork], stdout=subprocess.PIPE, text=True
    )
    feeder, child = (int(number) for number in trainer.stdout.readline().split())
    try:
        trainer.kill()
        begin = time.monotonic()
        trainer.wait()
        assert ended(feeder, 30)
        took = time.monotonic() - begin
        assert alive(child)
        if "job_file" in loader._job:
            # The child still has the arena mapped; its pages have gone back.
            with open(f"/proc/{child}/smaps") as smaps:
                text = smaps.read().split("penstock")[1:]
            resident = sum(int(line.split()[1]) for part in text for line in part.splitlines()[:8] if line.startswith("Rss"))
            assert resident < 1024
    finally:
        os.kill(child, signal.SIGKILL)
        trainer.stdout.close()
    return took


@pytest.mark.parametrize("fork", ["python", "c"])
def test_a_killed_trainer_takes_its_feeder_with_it_within_a_second_though_forked_children_live(make, fork):
    before = set(os.listdir("/dev/shm"))
    # What the feeder needs, not what a busy machine does: the best of some.
    assert any(seconds_until_a_killed_trainers_feeder_ends(make(), fork) < 1 for _ in range(5))
    assert set(os.listdir("/dev/shm")) <= before


def test_a_killed_feeder_leaves_nothing_and_the_loop_goes_on(make):
    loader = make()
    whole = [batch.ids.copy() for batch in loader]
    second = make()
    before = set(os.listdir("/dev/shm"))
    loop = iter(second)
    got = [next(loop).ids.copy()]
    os.kill(feeder_of(second).process_id, signal.SIGKILL)
    begin = time.monotonic()
    with pytest.raises(penstock.FeederDied, match="SIGKILL"):  # noqa: PT012
        while True:
            got.append(next(loop).ids.copy())
    assert time.monotonic() - begin < 5
    got += [batch.ids.copy() for batch in loop]
    assert len(got) == len(whole)
    assert all((a == b).all() for a, b in zip(got, whole))
    assert set(os.listdir("/dev/shm")) <= before


def test_a_loader_made_in_a_thread_that_ends_goes_on(make):
    made = []
    thread = threading.Thread(target=lambda: made.append(make()) or made.append(next(iter(made[0])).ids.copy()))
    thread.start()
    thread.join()
    # For the system the thread ends a moment later.
    assert eventually(lambda: not os.path.exists(f"/proc/self/task/{thread.native_id}"))
    loader = made[0]
    feeder = feeder_of(loader)
    assert len(list(loader)) == len(loader)
    assert feeder is feeder_of(loader)
    assert alive(feeder.process_id)


def test_batches_are_dropped_in_other_threads(make):
    loader = make()
    for _ in range(4):
        for batch in loader:
            threading.Thread(target=lambda held=batch: held.ids.sum()).start()
    del batch
    assert eventually(lambda: feeder_of(loader).releases.held == 0)


def resources():
    gc.collect()
    with open("/proc/self/statm") as statm:
        statm_fields = statm.read().split()
    anonymous = (int(statm_fields[1]) - int(statm_fields[2])) * 4096
    return anonymous, threading.active_count(), len(os.listdir("/proc/self/fd"))


def test_10000_batches_leave_memory_threads_and_descriptors_flat(make):
    loader = make(epochs=0, batch_size=1, decoded_cache="512MiB")
    loop = iter(loader)
    for _ in range(500):
        next(loop)
    before = resources()
    for number in range(9500):
        batch = next(loop)
        if number % 10 == 0:
            assert batch["image"].shape[0] == batch.rows
    after = resources()
    assert after[0] - before[0] < 2 << 20
    assert after[1] <= before[1]
    assert after[2] <= before[2]  # fewer: something of an earlier test went
    del batch
    assert feeder_of(loader).releases.held == 0


def test_saving_the_state_at_a_step_is_a_few_calls_and_asks_nobody(make):
    loader = make()
    calls = []

    def note(_, event, what):
        if event in ("call", "c_call"):
            calls.append(getattr(what, "__name__", ""))

    for _ in loader:
        calls.clear()
        sys.setprofile(note)
        loader.state_dict()
        sys.setprofile(None)
        # Some microseconds; a socket or a wait would be among them by name.
        assert len(calls) < 25, calls
        assert not {"send", "recv", "poll", "sendmsg", "acquire", "sleep"} & set(calls)


def test_forks_while_batches_are_released_do_no_harm(make):
    """multiprocessing's forks in the middle of a loop, as a trainer's own worker processes are."""
    loader = make(epochs=0)
    children = []
    loop = iter(loader)
    ids = []
    for number in range(40):
        batch = next(loop)
        ids.append(batch.ids.copy())
        if number % 4 == 0:
            pid = os.fork()
            if pid == 0:
                del batch
                gc.collect()
                os._exit(0)
            children.append(pid)
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
    fresh = iter(make(epochs=0))
    assert all((next(fresh).ids == expected).all() for expected in ids)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python does not list its own modules before 3.10")
def test_the_package_imports_nothing_but_numpy():
    script = (
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import penstock\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(n for n in new if n not in sys.stdlib_module_names))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "['penstock']"
