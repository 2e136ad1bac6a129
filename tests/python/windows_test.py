"""Records of several rows: the slices that NumPy gives, in process and served, through resumes and commands."""

import collections
import gzip
import json
import struct

import numpy as np
import pytest

import penstock
from fixtures import BIN
from tar_test import daemon, run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data = tmp_path / "data"
    data.mkdir()
    return data


def job_of(shape, number="UINT16", **dataset):
    return penstock.Job(
        name="windows", dataset=dataset, order={"seed": 2, "shuffle": "FULL"},
        features={"row": {"type": "BYTES", "decode_raw": number, "shape": shape}}, batch={"size": 7, "last": "PARTIAL"})


def rows(source, **arguments):
    with penstock.Loader(source, **arguments) as loader:
        batches = [(batch.ids.copy(), batch["row"].copy()) for batch in loader]
    return np.concatenate([ids for ids, _ in batches]), np.concatenate([row for _, row in batches])


def windows_of(array, size, stride):
    """numpy.lib.stride_tricks judges the windows of each file."""
    windows = np.lib.stride_tricks.sliding_window_view(array, size, axis=0)[::stride]
    return np.moveaxis(windows, -1, 1)


@pytest.mark.parametrize(("size", "stride"), [(65, 64), (64, None), (10, 3), (5, 40)])
def test_tokens_are_the_slices_of_the_file(folder, size, stride):
    draw = np.random.default_rng(size)
    files = [draw.integers(0, 65536, length, dtype="uint16") for length in (1000, 3, 777)]
    for number, tokens in enumerate(files):
        tokens.tofile(folder / f"{number}.bin")
    job = job_of([size], files="*.bin", source="UINT16", window={"size": size, **({"stride": stride} if stride else {})})
    ids, found = rows(job, data_root=folder)
    expected = {(number, k): row for number, tokens in enumerate(files) if len(tokens) >= size
                for k, row in enumerate(windows_of(tokens, size, stride or size))}
    assert sorted(map(tuple, ids.tolist())) == sorted(expected)
    for key, row in zip(ids.tolist(), found):
        np.testing.assert_array_equal(row, expected[tuple(key)])
    if stride == size - 1:
        targets = collections.Counter()
        for number, k in ids.tolist():
            targets.update((number, place) for place in range(k * stride + 1, k * stride + size))
        assert set(targets.values()) == {1}, "each token is a target once"
    with daemon(folder) as address:
        penstock.submit(job, coordinator=address)
        served_ids, served = rows("windows", coordinator=address)
    np.testing.assert_array_equal(served_ids, ids)
    np.testing.assert_array_equal(served, found)


def test_a_series_has_windows_of_its_rows_also_compressed_and_selected(folder):
    series = np.random.default_rng(1).standard_normal((200, 3)).astype("float32")
    np.save(folder / "plain.npy", series)
    (folder / "packed.npy.gz").write_bytes(gzip.compress((folder / "plain.npy").read_bytes()))
    expected = windows_of(series, 24, 1)
    for file in ("plain.npy", "packed.npy.gz"):
        job = job_of([24, 3], "FLOAT32", files=file, window={"size": 24, "stride": 1})
        ids, found = rows(job, data_root=folder)
        assert len(ids) == 177
        np.testing.assert_array_equal(found, expected[ids[:, 1]])
        job = job_of([24, 3], "FLOAT32", files=file, window={"size": 24, "stride": 1},
                     select=[{"every": {"n": 5, "offset": 1}}])
        ids, found = rows(job, data_root=folder)
        assert sorted(ids[:, 1].tolist()) == list(range(1, 177, 5))
        np.testing.assert_array_equal(found, expected[ids[:, 1]])
        job = job_of([24, 3], "FLOAT32", files=file, window={"size": 24, "stride": 1},
                     select=[{"sample": {"fraction": 0.5}}, {"sort": {"by": "len(row)"}}])
        ids, found = rows(job, data_root=folder)
        assert 50 < len(ids) < 130
        np.testing.assert_array_equal(found, expected[ids[:, 1]])


def documents_of(draw, count, mark):
    """Returns documents of 0 to 80 tokens, each with its mark but the last one."""
    documents = [[*draw.integers(0, mark, draw.integers(0, 81), dtype="uint16").tolist(), mark] for _ in range(count)]
    documents[-1][-1] = 0
    return documents


def test_documents_end_with_their_mark(folder):
    draw = np.random.default_rng(4)
    documents = documents_of(draw, 120, 50256)
    for name, some in (("a.bin", documents[:70]), ("b.bin", documents[70:])):
        np.concatenate([np.asarray(each, "uint16") for each in some]).tofile(folder / name)
    written = run("init", "*.bin", "--data-root", folder, "--source", "UINT16", "--window", "end=50256").stdout
    assert "window { end: 50256 }" in written
    assert "decode_raw: UINT16 variable_length: true" in written
    job = folder.parent / "job.textproto"
    job.write_text(written)
    with penstock.Loader(str(job), data_root=folder, batch_size=10) as loader:
        found = [row.tolist() for batch in loader for row in batch["row"]]
    assert sorted(found) == sorted(documents)
    assert run("index", folder / "a.bin", "--source", "UINT16", "--window", "end=50256").returncode == 0
    assert run("verify", folder / "a.bin", "--source", "UINT16", "--window", "end=50256").returncode == 0
    report = run("select", folder / "a.bin", "--source", "UINT16", "--window", "end=50256", "--filter", "len(row) > 40").stdout
    assert f"{sum(len(each) > 40 for each in documents[:70])} of 70 records" in report


def test_a_stream_of_documents_is_cut_into_full_rows(folder):
    documents = documents_of(np.random.default_rng(5), 200, 9)
    np.concatenate([np.asarray(each, "uint16") for each in documents]).tofile(folder / "train.bin")
    job = penstock.Job(
        name="stream", order={"seed": 2}, batch={"size": 5, "last": "PARTIAL"},
        dataset={"files": "train.bin", "source": "UINT16", "window": {"end": 9},
                 "select": [{"pack": {"length": 65, "features": ["row"], "concatenate": True, "overlap": 1}}]},
        features={"row": {"type": "BYTES", "decode_raw": "UINT16", "variable_length": True}})
    rows = []
    with penstock.Loader(job, data_root=folder) as loader:
        for batch in loader:
            assert (batch["row"].dtype, batch["row"].shape[1]) == (np.uint16, 65)
            rows += zip(batch["row"], batch["row_segment_ids"], batch["row_positions"])
    tokens = sum(len(each) for each in documents)
    assert len(rows) == -(-(tokens - 1) // 64)
    starts = {tuple(each[:4]) for each in documents if len(each) >= 4}
    for row, segments, positions in rows:
        assert positions[0] == 0
        assert (np.diff(segments[segments > 0]) >= 0).all()
        for begin in np.flatnonzero(np.diff(segments) > 0) + 1:
            if (segments[begin : begin + 4] == segments[begin]).sum() == 4:
                assert tuple(row[begin : begin + 4].tolist()) in starts
    assert sum((segments > 0).sum() - 1 for _, segments, _ in rows) == tokens - 1


def test_a_state_continues_and_other_windows_are_rejected(folder):
    np.arange(5000, dtype="<u4").tofile(folder / "a.bin")
    job = job_of([9], "UINT32", files="a.bin", source="UINT32", window={"size": 9, "stride": 8})
    with penstock.Loader(job, data_root=folder) as loader:
        whole = []
        for batch in loader:
            whole.append(batch["row"].tolist())
            if len(whole) == 11:
                state = loader.state_dict()
    with penstock.Loader(job, data_root=folder) as again:
        again.load_state_dict(state)
        assert [batch["row"].tolist() for batch in again] == whole[11:]
    other = job_of([9], "UINT32", files="a.bin", source="UINT32", window={"size": 9, "stride": 7})
    with penstock.Loader(other, data_root=folder) as again:
        again.load_state_dict(state)
        with pytest.raises(penstock.PenstockError, match="order fingerprint"):
            next(iter(again))


def test_a_blend_reads_one_file_in_windows_of_two_strides(folder):
    np.arange(2000, dtype="<i4").tofile(folder / "a.bin")
    sets = [{"name": name, "weight": 1, "files": "a.bin", "source": "INT32", "window": {"size": 10, "stride": stride}}
            for name, stride in (("dense", 1), ("sparse", 10))]
    job = penstock.Job(name="both", dataset=sets, blend={"epoch_rows": 640}, batch=32,
                       features={"row": {"type": "BYTES", "decode_raw": "INT32", "shape": [10]}})
    with penstock.Loader(job, data_root=folder) as loader:
        for batch in loader:
            strides = np.array([1, 10])[batch.datasets]
            np.testing.assert_array_equal(batch["row"][:, 0], batch.ids[:, 1] * strides)


def test_commands_read_windows(folder):
    np.arange(1000, dtype="<u2").tofile(folder / "a.bin")
    numbers = ("--source", "UINT16", "--window", "100:50")
    assert "19 records in 1 shard" in run("index", f"{folder}/*", *numbers).stdout
    assert json.loads(run("verify", f"{folder}/*", "--json", *numbers).stdout)["readable_records"] == 19
    job = folder.parent / "job.textproto"
    made = run("init", f"{folder}/*", "--out", job, *numbers)
    assert made.returncode == 0, made.stderr
    for command in ("preview", "bench"):
        done = run(command, job, *(["--seconds", "1"] if command == "bench" else []))
        assert done.returncode == 0, done.stderr
    out = run("select", f"{folder}/*", "--filter", "len(row) == 100", "--examples", "0", *numbers).stdout
    assert "19 of 19 records in 1 file match" in out
    done = run("bake", job, "--out", folder.parent / "baked")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--source", "UINT16"), "--source UINT16 needs --window SIZE[:STRIDE], such as --window 1025:1024"),
        (("--source", "UINT16", "--window", "5:x"), "--window: '5:x' is not SIZE, SIZE:STRIDE or end=NUMBER"),
        (("--source", "UINT16", "--window", "end=x"), "--window: 'end=x' has no integer after `end=`, such as end=50256"),
        (("--source", "UINT16", "--window", "0"), "--window: '0' is not SIZE, SIZE:STRIDE or end=NUMBER"),
        (("--source", "UINT8", "--window", "5"), "--source: 'UINT8' is none of TFRECORD,"),
        (("--source", "UINT32", "--window", "5"), "the file ends inside its data; this record is lost (after 2 of 4 bytes)"),
        (("--source", "NPY", "--window", "5"), "does not begin with the magic of a .npy file"),
    ],
)
def test_mistakes_of_commands_have_a_remedy(folder, arguments, error):
    np.arange(1001, dtype="<u2").tofile(folder / "a.bin")
    done = run("index", f"{folder}/*", *arguments)
    assert done.returncode != 0
    assert error in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("dataset", "error"),
    [
        ({"source": "UINT16"}, "dataset[0].window: numbers of type UINT16 need one, such as window { size: 1025 "),
        ({"source": "CSV", "window": {"size": 5}}, "window: it is for arrays (NPY, UINT16, UINT32, INT32), not for CSV"),
        ({"source": "UINT16", "window": {"stride": 3}}, "dataset[0].window.size: 0: from 1 to 2^31 - 1 rows"),
        ({"source": "UINT16", "window": {"size": 2000}}, "the job's files hold no records"),
    ],
)
def test_mistakes_of_jobs_have_a_remedy(folder, dataset, error):
    np.arange(1000, dtype="<u2").tofile(folder / "a.bin")
    with pytest.raises(penstock.PenstockError) as found:
        rows(job_of([5], files="a.bin", **dataset), data_root=folder)
    assert error in str(found.value)


def write_megatron(stem, sequences):
    """Writes what Megatron's IndexedDatasetBuilder writes for these arrays of one type."""
    code = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}[sequences[0].dtype.name]
    stem.with_suffix(".bin").write_bytes(b"".join(sequence.tobytes() for sequence in sequences))
    sizes = np.array([len(sequence) for sequence in sequences], "<i4")
    pointers = np.concatenate([[0], np.cumsum(sizes.astype("<i8") * sequences[0].itemsize)[:-1]]).astype("<i8")
    documents = np.arange(len(sequences) + 1, dtype="<i8")
    stem.with_suffix(".idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(sequences), len(documents))
        + sizes.tobytes() + pointers.tobytes() + documents.tobytes())


def test_sequences_of_megatron_are_records(folder):
    draw = np.random.default_rng(3)
    parts = {name: [draw.integers(0, 50000, length, dtype="uint16") for length in draw.integers(0, 90, 40)] for name in "ab"}
    for name, sequences in parts.items():
        write_megatron(folder / f"{name}_text_document", sequences)
    features = {"row": {"type": "BYTES", "decode_raw": "UINT16", "variable_length": True}}

    def job(**dataset):
        return penstock.Job(name="corpus", dataset={"files": "*.bin", "source": "MEGATRON", **dataset}, features=features,
                            order={"seed": 2, "shuffle": "FULL"}, batch={"size": 7, "last": "PARTIAL"})

    def records(source, **arguments):
        with penstock.Loader(source, **arguments) as loader:
            return {tuple(id.tolist()): row.tolist() for batch in loader for id, row in zip(batch.ids, batch["row"])}

    expected = {(file, k): row.tolist() for file, name in enumerate("ab") for k, row in enumerate(parts[name])}
    assert records(job(), data_root=folder) == expected
    long = {key: row for key, row in expected.items() if len(row) > 40}
    found = records(job(select=[{"filter": "len(row) > 40"}]), data_root=folder)
    assert sorted(found.values()) == sorted(long.values())
    with daemon(folder) as address:
        penstock.submit(job(), coordinator=address)
        assert records("corpus", coordinator=address) == expected
    packed = job(select=[{"pack": {"length": 65, "features": ["row"], "concatenate": True, "overlap": 1}}])
    with penstock.Loader(packed, data_root=folder) as loader:
        tokens = sum(int((batch["row_segment_ids"] > 0).sum()) for batch in loader)
        rows_made = len(loader)
    assert tokens >= sum(len(row) for row in expected.values())
    assert rows_made > 0
    written = run("init", str(folder / "*.bin"), "--source", "MEGATRON")
    assert "source: MEGATRON" in written.stdout, written.stderr
    assert "decode_raw: UINT16 variable_length: true" in written.stdout
    assert run("verify", str(folder / "*.bin"), "--source", "MEGATRON").returncode == 0
    wrong = run("index", str(folder / "*.idx"), "--source", "MEGATRON")
    assert wrong.returncode == 1
    assert "this is the index of Megatron's tokens" in wrong.stderr
    (folder / "a_text_document.idx").unlink()
    missing = run("init", str(folder / "a*.bin"), "--source", "MEGATRON", "--index-dir", str(folder.parent / "new"))
    assert missing.returncode == 1
    assert "there is no index" in missing.stderr
    assert "a_text_document.idx" in missing.stderr
