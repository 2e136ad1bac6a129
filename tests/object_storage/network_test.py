"""A network that is cut in the middle of an epoch, between the programs and storages by other projects."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from commands import EPOCHS, SlowReader, arrays, begin, digest_of, end_of, wait_until, wait_with, write_job
from conftest import BIN, HERE, SECRETS, SeaweedFS

CUTS = ("silent", "lossy", "refused")
PART = 20 << 20  # bytes of a 30 MiB shard that pass the network
LOOP = """
import sys, hashlib, penstock
loader = penstock.Loader(sys.argv[1], prefetch_steps=1, **({"coordinator": sys.argv[2]} if sys.argv[2:] else {}))
digest = hashlib.sha256()
for step, batch in enumerate(loader):
    digest.update(batch["image"].tobytes() + batch["label"].tobytes())
    if step == 1:
        print("begun", flush=True)
        sys.stdin.readline()
print(digest.hexdigest())
"""


@pytest.fixture(scope="module")
def expected(place):
    """The digest of the same shards as local files."""
    job = write_job(place, "*", "local.textproto")
    with place.daemon(f"data={place.files[0].parent}") as daemon:
        return digest_of(daemon.type(f"penstock read {job} --epochs {EPOCHS} --json"))


@pytest.mark.parametrize("how", CUTS)
def test_a_network_that_is_cut_changes_no_byte_and_the_storage_is_named_meanwhile(far, network, expected, how):
    job = write_job(far, "*", "cut.textproto")
    with far.daemon(f"data={far.at('photos')}", "--record-cache", "0") as daemon:
        reader = SlowReader(daemon, job)
        network.cut(how)
        try:
            # The status shows a silent storage after 2 s and a heartbeat. The worker retries after 10 s, and fails a
            # read after 30 s.
            wait_until(lambda: f"{far.at('photos/')}demo" in daemon.type("penstock status"), 20)
            status = daemon.type("penstock status")
            explained = daemon.type("penstock explain photos")
        finally:
            network.mend()
        assert reader.digest() == expected
        assert far.at("photos/") in explained
        if how != "refused":
            assert f"nothing comes from 127.0.0.1:{network.port}" in status + explained


def test_a_cut_longer_than_any_limit_is_told_all_the_time_and_changes_no_byte(far, network, expected):
    if not isinstance(far.server, SeaweedFS):
        return  # one storage suffices: the test takes a minute
    job = write_job(far, "*", "long_cut.textproto")
    with far.daemon(f"data={far.at('photos')}", "--record-cache", "0") as daemon:
        reader = SlowReader(daemon, job)
        network.cut("silent")
        try:
            begun = time.monotonic()
            wait_until(lambda: f"{far.at('photos/')}demo" in daemon.type("penstock status"), 20)
            # A read fails after 30 s, and the reader requests its row again.
            while time.monotonic() < begun + 36:
                assert far.at("photos/") in daemon.type("penstock status")
                assert far.at("photos/") in daemon.type("penstock explain photos")
                assert "files that cannot be read" in daemon.type("penstock top")
                time.sleep(1)
        finally:
            network.mend()
        assert reader.digest() == expected
        wait_until(lambda: far.at("photos/") not in daemon.type("penstock status"), 30)


@pytest.mark.parametrize("how", CUTS)
def test_python_in_process_and_served_goes_on_behind_a_cut(far, network, how):
    remote = write_job(far, far.at("photos/*"), "python.textproto")
    local = write_job(far, f"{far.files[0].parent}/*", "python_local.textproto")
    package = HERE.parents[1] / "client" / "python"
    environment = far.environment(PYTHONPATH=str(package), PENSTOCK_PROGRAM=str(BIN / "penstock"))

    def start(*arguments):
        return subprocess.Popen(
            [sys.executable, "-c", LOOP, *arguments],
            cwd=far.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    with far.daemon(f"data={far.at('')}", "--record-cache", "0") as daemon:
        daemon.type(f"penstock submit {remote}")
        loops = [start(local), start(remote), start("photos", daemon.address)]
        for loop in loops:
            assert loop.stdout.readline() == "begun\n", loop.communicate()
        network.cut(how)
        mending = threading.Timer(3, network.mend)
        mending.start()
        said = [loop.communicate("\n", timeout=120) for loop in loops]
        mending.join()
    assert [loop.returncode for loop in loops] == [0, 0, 0], said
    assert said[0][0] == said[1][0] == said[2][0] != ""
    assert not any(secret in err for _, err in said for secret in SECRETS)


def stopped_behind_a_cut(far, network, command, folder, signals):
    """Runs a command whose network is cut in its first shard. Returns its output, its code, and the time after a signal."""
    network.cut_behind(PART)
    process = begin(far, f"{command} --shard-size 30MiB --out {far.at(folder)}")
    try:
        wait_with(process, lambda: network.cut_as)
        assert any(key.startswith(f"{folder}/") for key in far.server.pending())
        stopping = time.monotonic()
        for count, number in enumerate(signals):
            if count > 0:
                time.sleep(0.3)  # two simultaneous signals count as one
            process.send_signal(number)
        said, code = end_of(process)
    finally:
        network.mend()
    return said, code, time.monotonic() - stopping


@pytest.mark.parametrize("command", ["import", "bake"])
def test_a_second_signal_ends_a_command_that_cannot_take_its_parts_back(far, network, command):
    if not isinstance(far.server, SeaweedFS):
        return  # one storage suffices: the result does not depend on it
    rows = arrays(far, 8000, "many.npy")
    job = write_job(far, f"{far.files[0].parent}/*", "to_bake.textproto")
    whole = f"penstock import {rows}" if command == "import" else f"penstock bake {job} --variants 40"
    said, code, took = stopped_behind_a_cut(far, network, whole, f"second-{command}", [signal.SIGTERM] * 2)
    assert code == 128 + signal.SIGTERM  # the first signal, if handled, ends the command with this code
    assert took < 5, said  # earlier than the 20 s that the command has for it
    assert not far.server.keys(f"second-{command}/data-")


def test_a_stopped_command_that_cannot_take_its_parts_back_says_so_after_20_s(far, network):
    if not isinstance(far.server, SeaweedFS):
        return  # as above
    rows = arrays(far, 8000, "many.npy")
    said, code, took = stopped_behind_a_cut(far, network, f"penstock import {rows}", "patient", [signal.SIGINT])
    assert code == 128 + signal.SIGINT, said
    assert 19 < took < 40, said
    assert f"the storage took too long, so parts of a shard may remain in {far.at('patient')}" in said
    assert not far.server.keys("patient/data-")
    # The same command removes S3's incomplete parts when it continues.
    assert any(key.startswith("patient/") for key in far.server.pending())
    far.type(f"penstock import {rows} --shard-size 30MiB --out {far.at('patient')}")
    assert not any(key.startswith("patient/") for key in far.server.pending())
