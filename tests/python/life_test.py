"""Forks, kills and long runs lose, leak and leave nothing. These tests use the fake feeder and the real one."""

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
    """Returns a function that makes a loader, of 5 steps of the fake feeder or of the real feeder's job."""
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
    return loader._core.stream.feeder


def in_child(function):
    """Returns the exit code of a fork that calls `function`: 0 if it returns True."""
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
    # The child has ended, so the feeder would have received its releases. It still counts all batches as held.
    assert loader.stats()["feeder_held_batches"] == len(batches)
    # If the feeder had released them, the next batches would overwrite their memory.
    for _ in range(3):
        for batch in loader:
            assert batch.rows
    for batch, copy in zip(batches, copies):
        for now, then in zip((batch["image"], batch["label"], batch.ids, batch.valid), copy):
            assert now.tobytes() == then.tobytes()
    # The feeder receives the parent's releases.
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
            if "this process is a fork of it" not in str(error):
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
    print(loader._core.stream.feeder.process_id, child, flush=True)
c.pause()
"""


def seconds_until_a_killed_trainers_feeder_ends(loader, fork):
    """The trainer has a forked child that survives it. A child forked by C code also has the trainer's sockets."""
    settings = loader._core.settings
    arguments = {"coordinator": "x:1"} if "job" in settings.job else {"data_root": settings.request["data_roots"][0]}
    job = settings.job.get("job") or settings.job["job_file"]
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
        if "job_file" in settings.job:
            # The child still has the arena mapped, and its pages are released.
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
    # The best of several runs, so that a busy machine does not count.
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


def arenas():
    """Returns the sizes in bytes of the feeders' memory that this process has open, by inode."""
    found = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            if "penstock-batches" in os.readlink(f"/proc/self/fd/{fd}"):
                info = os.stat(f"/proc/self/fd/{fd}")
                found[info.st_ino] = info.st_blocks * 512
        except OSError:  # closed in the meantime
            pass
    return found


def test_kept_arrays_stay_as_they_are_after_shutdown(make):
    kept = list(make())
    copies = [batch.copy() for batch in kept]
    penstock.shutdown()
    list(make())  # another feeder's batches
    for batch, copy in zip(kept, copies):
        assert copy["image"].any()
        assert (batch["image"] == copy["image"]).all()
        assert (batch["label"] == copy["label"]).all()
        assert batch.ids.shape == (batch.rows, 2)
        assert batch.valid.all()


AT_EXIT = """
import atexit, sys
kept, sums = [], []

@atexit.register
def check():  # after the package's own handler, which was registered later
    print([int(image.sum()) for image in kept] == sums and min(sums) > 0)

import penstock
for batch in penstock.Loader(sys.argv[1], data_root=sys.argv[2]):
    kept.append(batch["image"])
    sums.append(int(batch["image"].sum()))
"""


def test_kept_arrays_stay_as_they_are_in_handlers_at_exit(small_job):
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT, small_job.path, small_job.data], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("end", ["shutdown", "kill"])
def test_after_the_feeder_only_batches_that_are_kept_take_memory(small_job, end):
    before = arenas()
    loader = penstock.Loader(small_job.path, data_root=small_job.data, batch_size=20, epochs=8)
    loop = iter(loader)
    kept = [next(loop) for _ in range(30)]
    images = [batch["image"].copy() for batch in kept]
    (arena,) = set(arenas()) - set(before)

    def size():
        return arenas()[arena]

    held = sum(image.nbytes for image in images)
    if end == "shutdown":
        penstock.shutdown()
        assert held <= size() < held + (1 << 20)
    else:
        os.kill(feeder_of(loader).process_id, signal.SIGKILL)
        with pytest.raises(penstock.FeederDied):
            list(loop)
    whole = size()
    del kept[5:]
    assert all((batch["image"] == image).all() for batch, image in zip(kept, images))
    assert size() <= whole - held * 5 // 6 + (1 << 18)


def test_a_loader_made_in_a_thread_that_ends_goes_on(make):
    made = []
    thread = threading.Thread(target=lambda: made.append(make()) or made.append(next(iter(made[0])).ids.copy()))
    thread.start()
    thread.join()
    # The system removes the thread a moment later.
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
    assert after[2] <= before[2]  # fewer if objects of an earlier test ended
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
        # Some microseconds. A socket call or a wait would appear by its name.
        assert len(calls) < 25, calls
        assert not {"send", "recv", "poll", "sendmsg", "acquire", "sleep"} & set(calls)


def test_forks_while_batches_are_released_do_no_harm(make):
    """Forks by multiprocessing in the middle of a loop, like a trainer's own worker processes."""
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
