"""penstock.ShardWriter writes all records or none, from one process or several, and they can be read back."""

# A writer's `with` itself raises.
# ruff: noqa: PT012

import glob
import json
import multiprocessing
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from fixtures import BIN, ROOT, ended
from penstock import ConfigurationError, ShardWriter
from penstock import _packing as packing


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(*arguments):
    done = subprocess.run([str(BIN / "penstock"), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Yields (number, bytes) of a protobuf message that has length-prefixed fields only."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2
        size, at = varint(data, at)
        yield tag >> 3, data[at : at + size]
        at += size


def example(data):
    """Parses a tf.train.Example as a dict of lists: an independent implementation of the wire format."""
    out = {}
    for _, features in fields(data):
        for _, entry in fields(features):
            key, feature = (value for _, value in fields(entry))
            ((kind, body),) = fields(feature)
            values = [value for _, value in fields(body)]
            if kind == 2:
                values = list(struct.unpack(f"<{len(values[0]) // 4}f", values[0])) if values else []
            elif kind == 3:
                packed, values, at = (values[0] if values else b""), [], 0
                while at < len(packed):
                    value, at = varint(packed, at)
                    values.append(value - (1 << 64) if value >> 63 else value)
            out[key.decode()] = values
    return out


def records(folder, prefix="data"):
    """Returns the records of all shards in order, by their frames: u64 length, u32 CRC, data, u32 CRC."""
    out = []
    for shard in sorted(Path(folder).glob(f"{prefix}-*.tfrecord")):
        data, at = shard.read_bytes(), 0
        while at < len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            out.append(data[at + 12 : at + 12 + size])
            at += 16 + size
    return out


def test_what_is_written_is_read_back(tmp_path):
    with ShardWriter(tmp_path / "out", prefix="train") as writer:
        for i in range(100):
            writer.write({"n": i - 50, "text": f"é {i}", "raw": bytes([i, 0]), "f": i / 4, "none": None, "flag": i % 2 == 0})
    assert writer.result.records == writer.records == 100
    assert writer.result.files == str(tmp_path / "out" / "train-*.tfrecord")
    read = [example(record) for record in records(tmp_path / "out", "train")]
    assert read == [
        {"n": [i - 50], "text": [f"é {i}".encode()], "raw": [bytes([i, 0])], "f": [i / 4], "flag": [i % 2 == 0]}
        for i in range(100)
    ]
    assert json.loads(run("verify", writer.result.files, "--json"))["readable_records"] == 100
    assert "a correct job file" in run("check-config", writer.result.job)


def test_arrays_keep_type_and_shape(tmp_path):
    types = ["uint8", "int8", "uint16", "int16", "int32", "int64", "float16", "float32", "float64", "bool"]
    values = {name: np.arange(6).reshape(2, 3).astype(name) for name in types}
    values["swapped"] = values["int32"].astype(">i4")
    values["columns"] = np.asfortranarray(values["int16"])
    with ShardWriter(tmp_path / "out") as writer:
        writer.write(values)
    read = example(records(tmp_path / "out")[0])
    job = Path(writer.result.job).read_text()
    for name in types:
        assert read[name] == [values[name].tobytes()]
        assert f'key: "{name}" type: BYTES decode_raw: {name.upper()} shape: [2, 3] }}' in job
    assert read["swapped"] == read["int32"]
    assert read["columns"] == [values["int16"].tobytes()]


def test_scalars_of_numpy_are_values_and_lists_are_lists(tmp_path):
    with ShardWriter(tmp_path / "out") as writer:
        writer.write(
            {
                "i": np.int16(-3),
                "f": np.float64(0.5),
                "b": np.bool_(True),
                "zero": np.array(7),
                "s": np.str_("x"),
                "ints": [1, np.int64(2)],
                "mixed": [1, 0.5],
                "texts": ["a", b"b"],
                "array of texts": np.array(["a", "bc"]),
            }
        )
        second = {"i": 1, "f": 0.0, "b": 0, "zero": 0, "s": "", "ints": [], "mixed": (), "texts": []}
        writer.write({**second, "array of texts": ["x"]})
    assert example(records(tmp_path / "out")[0]) == {
        "i": [-3],
        "f": [0.5],
        "b": [1],
        "zero": [7],
        "s": [b"x"],
        "ints": [1, 2],
        "mixed": [1.0, 0.5],
        "texts": [b"a", b"b"],
        "array of texts": [b"a", b"bc"],
    }
    assert 'key: "ints" type: INT64 variable_length: true }' in Path(writer.result.job).read_text()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1 << 63, "does not fit int64"),
        (1e300, "does not fit float32"),
        ([1, "a"], "numbers and texts"),
        ([[1]], "more than one axis"),
        (np.zeros(2, "complex64"), "array of complex64"),
        (np.zeros((2, 0)), "only the first axis may be 0"),
        (object(), "of type object"),
        ({"a": 1}, "of type dict"),
    ],
)
def test_what_cannot_be_kept_is_named(tmp_path, value, message):
    with pytest.raises(ConfigurationError, match=message) as caught, ShardWriter(tmp_path / "out") as writer:
        writer.write({"good": 1})
        writer.write({"bad": value})
    assert "record 1" in str(caught.value)
    assert "'bad'" in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_refused_record_leaves_the_writer_usable(tmp_path):
    with ShardWriter(tmp_path / "out") as writer:
        with pytest.raises(ConfigurationError):
            writer.write({"x": object()})
        writer.write({"x": 1})
    assert writer.result.records == 1


def test_a_key_is_of_one_kind(tmp_path):
    writer = ShardWriter(tmp_path / "out")
    writer.write({"x": 1})
    writer.write({"x": 1.5})
    with pytest.raises(ConfigurationError, match="'x' is FLOAT in this record and was INT64 before") as caught:
        writer.close()
    assert "record 1" in str(caught.value)
    assert caught.value.code == "INVALID_ARGUMENT"


def test_shuffled_is_a_permutation_that_depends_on_the_seed_alone(tmp_path):
    orders = []
    for n, seed in enumerate([1, 1, 2]):
        with ShardWriter(tmp_path / str(n), order="shuffled", seed=seed, shard_size=1000) as writer:
            for i in range(500):
                writer.write({"n": i})
        assert writer.result.shards > 10
        orders.append([example(record)["n"][0] for record in records(tmp_path / str(n))])
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == list(range(500)) != orders[0]


def test_serialized_examples_are_kept_byte_for_byte(tmp_path):
    with ShardWriter(tmp_path / "one") as writer:
        writer.write({"n": 3, "s": "x"})
    one = records(tmp_path / "one")[0]
    with ShardWriter(tmp_path / "two") as writer:
        writer.write_example(one)
    assert records(tmp_path / "two") == [one]
    with pytest.raises(ConfigurationError, match="no serialized"), ShardWriter(tmp_path / "three") as writer:
        writer.write_example(b"no example")


def test_the_framing_is_that_of_the_reference_files(tmp_path):
    reference = Path(os.environ.get("PENSTOCK_REFERENCE_DATA", "/nowhere")) / "tfrecord" / "features.tfrecord"
    if not reference.exists():
        reference = tmp_path / "reference.tfrecord"  # our own, written by the same program in another way
        with ShardWriter(tmp_path / "own") as writer:
            for i in range(100):
                writer.write({"n": i})
        reference.write_bytes(next((tmp_path / "own").glob("*.tfrecord")).read_bytes())
    (tmp_path / "reference").mkdir()
    whole = reference.read_bytes()
    (tmp_path / "reference" / "data-0.tfrecord").write_bytes(whole)
    with ShardWriter(tmp_path / "out", shard_size="1GiB") as writer:
        for record in records(tmp_path / "reference"):
            writer.write_example(record)
    (made,) = (tmp_path / "out").glob("*.tfrecord")
    assert made.read_bytes() == whole


# ---- all or nothing


def test_nothing_is_there_before_the_end_and_all_of_it_after(tmp_path):
    with ShardWriter(tmp_path / "out") as writer:
        for i in range(1000):
            writer.write({"n": i, "data": bytes(1000)})
        assert not (tmp_path / "out").exists()
        assert glob.glob(str(tmp_path / "**"), recursive=True) == [str(tmp_path) + "/"]  # no glob finds hidden files
    assert len(records(tmp_path / "out")) == 1000
    assert os.listdir(tmp_path) == ["out"]


def test_an_exception_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), ShardWriter(tmp_path / "out") as writer:
        writer.write({"n": 1 // len(os.listdir(tmp_path))})
        writer.write({"n": 1 // 0})
    assert os.listdir(tmp_path) == []


def test_a_writer_that_is_forgotten_leaves_nothing(tmp_path):
    writer = ShardWriter(tmp_path / "out")
    writer.write({"n": 1})
    del writer
    assert os.listdir(tmp_path) == []


def test_a_killed_process_leaves_nothing(tmp_path):
    script = (
        "import signal, penstock\n"
        f"writer = penstock.ShardWriter({str(tmp_path / 'out')!r})\n"
        "for i in range(1000): writer.write({'data': bytes(1000)})\n"
        "print(writer._process.pid, flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        program = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
    assert ended(program, 20)
    assert os.listdir(tmp_path) == []


def test_a_killed_program_is_an_error_and_leaves_nothing(tmp_path):
    writer = ShardWriter(tmp_path / "out")
    os.kill(writer._process.pid, signal.SIGKILL)
    writer._process.wait()
    with pytest.raises(Exception, match="SIGKILL"):
        writer.close()
    assert os.listdir(tmp_path) == []


def test_a_folder_with_files_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigurationError, match="is there and not empty"):
        ShardWriter(tmp_path)
    with pytest.raises(ConfigurationError, match="no records came"), ShardWriter(tmp_path / "out"):
        pass
    with pytest.raises(ConfigurationError, match="shuffled or sorted"):
        ShardWriter(tmp_path / "out", order="random")
    assert os.listdir(tmp_path) == ["file"]


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "out").mkdir()
    with ShardWriter(tmp_path / "out") as writer:
        writer.write({"n": 1})
    assert len(records(tmp_path / "out")) == 1


# ---- several processes and threads


def write_part(part, begin, end, fail=False):
    with part:
        for i in range(begin, end):
            part.write({"n": i, "data": np.full(i % 7, i)})
        if fail:
            raise ValueError("in the middle")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_parts_come_in_their_order_from_several_processes(tmp_path, method):
    with ShardWriter(tmp_path / "out", shard_size=5000) as writer:
        writer.write({"n": -1, "data": np.zeros(0, int)})
        with multiprocessing.get_context(method).Pool(3) as pool:
            pool.starmap(write_part, [(writer.part(n), n * 100, n * 100 + 100) for n in reversed(range(5))], chunksize=1)
    assert [example(record)["n"][0] for record in records(tmp_path / "out")] == list(range(-1, 500))
    assert 'decode_raw: INT64 variable_length: true' in Path(writer.result.job).read_text()
    assert os.listdir(tmp_path) == ["out"]


def test_a_missing_part_is_an_error_until_it_was_written_again(tmp_path):
    writer = ShardWriter(tmp_path / "out")
    write_part(writer.part(0), 0, 10)
    with pytest.raises(ValueError, match="in the middle"):
        write_part(writer.part(1), 10, 15, fail=True)
    with pytest.raises(ConfigurationError, match="part 1 is not finished"):
        writer.close()
    assert os.listdir(tmp_path) == []

    with ShardWriter(tmp_path / "out") as writer:
        with pytest.raises(ValueError, match="in the middle"):
            write_part(writer.part(1), 10, 15, fail=True)
        write_part(writer.part(1), 10, 20)
        write_part(writer.part(0), 0, 10)
    assert [example(record)["n"][0] for record in records(tmp_path / "out")] == list(range(20))


def test_parts_must_agree(tmp_path):
    with pytest.raises(ConfigurationError, match="'n' is INT64"), ShardWriter(tmp_path / "out") as writer:
        with writer.part(0) as part:
            part.write({"n": "text"})
        with writer.part(1) as part:
            part.write({"n": 1})
    assert os.listdir(tmp_path) == []


def test_a_forked_child_may_not_write_and_harms_nothing(tmp_path):
    with ShardWriter(tmp_path / "out") as writer:
        writer.write({"n": 0})
        pid = os.fork()
        if pid == 0:
            try:
                writer.write({"n": 1})
            except ConfigurationError as error:
                os._exit(0 if "writer.part(n)" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        writer.write({"n": 2})
    assert [example(record)["n"][0] for record in records(tmp_path / "out")] == [0, 2]


def test_a_part_that_has_begun_is_not_sent(tmp_path):
    with ShardWriter(tmp_path / "out") as writer:
        part = pickle.loads(pickle.dumps(writer.part(0)))
        with part:
            part.write({"n": 1})
            with pytest.raises(ConfigurationError, match="stays in its process"):
                pickle.dumps(part)


def test_threads_may_share_a_writer(tmp_path):
    with ShardWriter(tmp_path / "out") as writer:
        threads = [
            threading.Thread(target=lambda k=k: [writer.write({"n": k * 1000 + i, "d": bytes(500)}) for i in range(1000)])
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    read = [example(record)["n"][0] for record in records(tmp_path / "out")]
    assert sorted(read) == list(range(4000))


# ---- the packed form


def test_packed_values_are_what_the_page_says():
    assert packing.features_body({"ab": 5}) == b"\x02\x00ab" + b"\x03\x01\x01\0\0\0" + struct.pack("<q", 5)
    assert packing.features_body({"a": [b"xy"]}) == b"\x01\x00a" + b"\x01\x00\x01\0\0\0" + b"\x02\0\0\0xy"
    body = packing.features_body({"a": np.zeros((2, 3), "float32")})
    assert body == b"\x01\x00a" + b"\x04\x09\x02" + struct.pack("<QQ", 2, 3) + bytes(24)


def test_the_tests_import_this_tree():
    assert Path(packing.__file__).is_relative_to(ROOT)
