"""Writers of a bucket that are killed, are stopped, or share their folder with another writer."""

import signal

import numpy
import pytest

from commands import arrays, begin, end_of, frames, read_digest, wait_with, write_job
from conftest import FakeGcs, Moto

WHOLE = 8000  # rows of an import: 98 MB
PART = 50 << 20  # bytes of it that pass the network


def in_the_midst(far, network, command, part=PART):
    """Starts a writer that cannot finish before the network is restored, however fast the machine is."""
    network.cut_behind(part)
    process = begin(far, command)
    wait_with(process, lambda: network.cut_as)
    return process


def stopped(far, network, command, number):
    process = in_the_midst(far, network, command)
    process.send_signal(number)
    network.mend()
    return end_of(process)


def test_an_import_that_is_killed_leaves_nothing_to_see_and_is_gone_on_with(far, network):
    if isinstance(far.server, Moto):
        return  # moto takes a second for each part
    rows = arrays(far, WHOLE, "many.npy")
    command = f"penstock import {rows} --shard-size 30MiB --out {far.at('killed')}"
    for part in (PART // 2, PART):  # in the first shard, and after it
        process = in_the_midst(far, network, command, part)
        process.kill()
        process.wait()
        network.mend()
        for key in far.server.keys("killed/"):
            if key.endswith(".tfrecord"):  # whole or missing
                assert " 0 broken files" in far.type(f"penstock verify '{far.at(key)}'")
    far.type(command)
    assert not far.server.pending()
    far.type(f"penstock import {rows} --shard-size 30MiB --out {far.folder}/unkilled")
    for path in (far.folder / "unkilled").glob("*.tfrecord"):
        assert f"killed/{path.name}" in far.server.keys("killed/")
    assert read_digest(far, far.at("killed/job.textproto")) == read_digest(far, "unkilled/job.textproto")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_import_that_is_stopped_takes_its_parts_back(far, network, number):
    if isinstance(far.server, Moto):
        return  # moto takes a second for each part
    rows = arrays(far, WHOLE, "many.npy")
    folder = f"stopped-{number.name}"
    command = f"penstock import {rows} --shard-size 30MiB --out {far.at(folder)}"
    said, code = stopped(far, network, command, number)
    assert code == -number
    assert f"penstock import: stopped by {number.name}; " in said
    if far.server.scheme == "s3":
        assert not far.server.pending()
    whole = [key for key in far.server.keys(f"{folder}/") if key.endswith(".tfrecord")]
    assert ("continues after" in said) == bool(whole)
    assert ("the run left no files" in said) == (not far.server.keys(f"{folder}/"))
    far.type(command)
    assert len(far.server.keys(f"{folder}/")) == 4 + 2  # shards, their state, the job


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_bake_that_is_stopped_takes_its_parts_back(far, network, number):
    if isinstance(far.server, Moto):
        return  # moto takes a second for each part
    job = write_job(far, f"{far.files[0].parent}/*", "to_bake.textproto")
    folder = f"baking-{number.name}"
    command = f"penstock bake {job} --variants 40 --shard-size 30MiB --out {far.at(folder)}"
    said, code = stopped(far, network, command, number)
    assert code == -number
    assert f"penstock bake: stopped by {number.name}; " in said
    assert far.server.scheme != "s3" or not far.server.pending()
    for key in far.server.keys(f"{folder}/"):
        if key.endswith(".tfrecord"):  # whole or missing
            assert " 0 broken files" in far.type(f"penstock verify '{far.at(key)}'")
    far.type(command)
    assert f"{folder}/job.textproto" in far.server.keys(f"{folder}/")


def test_of_two_imports_into_one_folder_the_later_one_has_it(place, far, network):
    if isinstance(place.server, (Moto, FakeGcs)):
        return  # moto takes a second for each part; fake-gcs-server ignores generations of uploads
    rows = arrays(place, WHOLE, "many.npy")
    command = f"penstock import {rows} --shard-size 30MiB --out {place.at('two')}"
    first = in_the_midst(far, network, command)
    place.type(command)
    network.mend()
    said, code = end_of(first)
    assert code == 1, said
    assert f"another run is writing into {place.at('two')}" in said
    assert len(place.server.keys("two/")) == 4 + 2
    assert not place.server.pending()
    assert " 0 broken files" in place.type(f"penstock verify '{place.at('two/*.tfrecord')}'")
    other = f"penstock import {rows} --shard-size 20MiB --out {place.at('two')}"
    assert "holds the shards of other arguments" in place.type(other, 1)


def test_of_imports_that_begin_together_one_has_the_folder(place):
    rows = arrays(place, 3000)
    command = f"penstock import {rows} --shard-size 20MiB --out {place.at('together')}"
    ends = [end_of(run) for run in [begin(place, command) for _ in range(3)]]
    for said, code in ends:
        assert code == 0 or "another run is writing into" in said or "InvalidBlockList" in said, said
    # Azure keeps the parts of two writers together, so the owner of the folder may have lost some.
    assert any(code == 0 for _, code in ends) or place.type(command), ends
    assert len(place.server.keys("together/")) == 2 + 2
    assert not place.server.pending()
    place.type(f"penstock import {rows} --shard-size 20MiB --out apart")
    assert read_digest(place, place.at("together/job.textproto")) == read_digest(place, "apart/job.textproto")


def test_a_run_that_fails_leaves_the_state_of_what_another_one_wrote(far, network):
    """A run that lost the folder may end after the next run has begun, which may then fail."""
    if isinstance(far.server, Moto):
        return  # moto takes a second for each part
    rows = arrays(far, WHOLE, "many.npy")
    command = f"penstock import {rows} --shard-size 1GiB --out {far.at('late')}"
    run = in_the_midst(far, network, command)
    far.server.put("late/data-00000.tfrecord", far.files[0])
    run.send_signal(signal.SIGTERM)
    network.mend()
    said, code = end_of(run)
    assert code == -signal.SIGTERM, said
    assert f"{far.at('late')} has files of an unfinished shard, the same command writes them again" in said
    far.type(command)
    assert len(far.server.keys("late/")) == 1 + 2
    far.type(f"penstock import {rows} --shard-size 1GiB --out by_itself")
    assert read_digest(far, far.at("late/job.textproto")) == read_digest(far, "by_itself/job.textproto")


def test_a_pack_that_is_stopped_leaves_nothing_in_the_bucket(far, network):
    if isinstance(far.server, Moto):
        return  # moto takes a second for each part
    rows = numpy.load(arrays(far, WHOLE, "many.npy")).reshape(WHOLE, -1)
    (far.folder / "many-frames").write_bytes(b"".join(frames(rows)))
    command = f"penstock pack --shard-size 30MiB --out {far.at('unpacked')} < many-frames"
    process = in_the_midst(far, network, command)
    assert far.server.keys("unpacked/data-")  # includes whole shards
    process.send_signal(signal.SIGTERM)
    network.mend()
    said, code = end_of(process)
    assert code == -signal.SIGTERM, said
    assert "the run left no files" in said
    assert not far.server.keys("unpacked/")
    assert far.server.scheme != "s3" or not far.server.pending()
