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


def wait_for(what, seconds=5.0):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


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
    copies = [batch["image"].copy() for batch in batches]

    def child():
        batches.clear()
        gc.collect()
        loader.close()
        return True

    assert in_child(child) == 0
    time.sleep(0.1)
    # What is made next would lie where they were.
    for _ in loader:
        pass
    assert all((batch["image"] == copy).all() for batch, copy in zip(batches, copies))


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
        own = make()
        assert (next(iter(own)).ids == first).all()
        penstock.shutdown()
        return True

    assert in_child(child) == 0
    assert len(list(loop)) == len(loader) - 1


def test_a_killed_trainer_takes_its_feeder_with_it_though_forked_children_live(make, tmp_path):
    script = (
        "import os, sys, time\n"
        "import penstock\n"
        "job, arguments = eval(sys.argv[1])\n"
        "loader = penstock.Loader(job, **arguments)\n"
        "kept = [next(iter(loader))]\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    time.sleep(60)\n"
        "    os._exit(0)\n"
        "print(loader._stream.feeder.process_id, child, flush=True)\n"
        "time.sleep(60)\n"
    )
    loader = make()
    arguments = {"coordinator": "x:1"} if "job" in loader._job else {"data_root": loader._request["data_roots"][0]}
    job = loader._job.get("job") or loader._job["job_file"]
    before = set(os.listdir("/dev/shm"))
    trainer = subprocess.Popen([sys.executable, "-c", script, repr((job, arguments))], stdout=subprocess.PIPE, text=True)
    feeder, child = (int(number) for number in trainer.stdout.readline().split())
    trainer.kill()
    trainer.wait()
    trainer.stdout.close()
    try:
        assert wait_for(lambda: not alive(feeder), 10)  # a second, where the machine is not busy
        assert alive(child)
        if "job_file" in loader._job:
            # The child still has the arena mapped; its pages have gone back.
            with open(f"/proc/{child}/smaps") as smaps:
                text = smaps.read().split("penstock")[1:]
            resident = sum(int(line.split()[1]) for part in text for line in part.splitlines()[:8] if line.startswith("Rss"))
            assert resident < 1024
    finally:
        os.kill(child, signal.SIGKILL)
    assert set(os.listdir("/dev/shm")) == before


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
    assert time.monotonic() - begin < 1
    got += [batch.ids.copy() for batch in loop]
    assert len(got) == len(whole)
    assert all((a == b).all() for a, b in zip(got, whole))
    assert set(os.listdir("/dev/shm")) == before


def test_a_loader_made_in_a_thread_that_ends_goes_on(make):
    made = []
    thread = threading.Thread(target=lambda: made.append(make()) or made.append(next(iter(made[0])).ids.copy()))
    thread.start()
    thread.join()
    time.sleep(0.2)
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
    assert wait_for(lambda: feeder_of(loader).releases.held == 0)


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
    assert after[1:] == before[1:]
    del batch
    assert feeder_of(loader).releases.held == 0


def test_saving_the_state_each_step_costs_little(make):
    loader = make()
    for _ in loader:
        best = 1.0
        for _ in range(20):
            begin = time.perf_counter()
            loader.state_dict()
            best = min(best, time.perf_counter() - begin)
        assert best < 100e-6


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
