"""Windows of the records of tables: each is a run of one sensor, as a plain loop over the table makes it."""

import json

import numpy as np
import pytest

import penstock
from fixtures import BIN
from tar_test import daemon, run

FILES = ("a", "b", "c")


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Returns a folder with three tables of several sensors, and their rows: sensor, moment, value, three numbers."""
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    draw = np.random.default_rng(4)
    folder = tmp_path / "data"
    folder.mkdir()
    tables = {}
    for number, name in enumerate(FILES):
        rows = []
        for sensor in range(6):
            for moment in range(int(draw.integers(1, 40))):
                value = float(np.float32(draw.normal()))
                rows.append((f"s{sensor}", moment, value, [number, len(rows), moment]))
        tables[name] = rows
        lines = [json.dumps({"sensor": s, "moment": m, "value": v, "three": t}) for s, m, v, t in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        csv = "".join(f"{s},{m},{v!r}\n" for s, m, v, _ in rows)
        (folder / f"{name}.csv").write_text("sensor,moment,value\n" + csv)
        kind = [("sensor", "S2"), ("moment", "i8"), ("value", "f4"), ("three", "i8", 3)]
        np.save(folder / f"{name}.npy", np.array([tuple(row) for row in rows], dtype=kind))
    return folder, tables


def windows_of(rows, size, stride=None, step=1, by=True, kept=lambda row: True):
    """Returns the numbers of the rows of each window, by a loop over all first rows of each run."""
    numbers = [number for number, row in enumerate(rows) if kept(row)]
    runs = []
    for number in numbers:
        is_new = not runs or (by and rows[number][0] != rows[runs[-1][-1]][0])
        runs.append([number]) if is_new else runs[-1].append(number)
    return [run[first : first + (size - 1) * step + 1 : step] for run in runs
            for first in range(0, len(run) - (size - 1) * step, stride or size)]


def job_of(window, kind="jsonl", before=(), after=(), name="series", **rest):
    features = {"sensor": {"type": "BYTES"}, "moment": {"type": "INT64"}, "value": {"type": "FLOAT"}}
    if kind == "jsonl":
        features["three"] = {"type": "INT64", "shape": [3]}
    source = {"jsonl": "JSONL", "csv": "CSV"}[kind]
    window = {"records": "rows", **window}
    return penstock.Job(
        name=name, dataset={"files": f"*.{kind}", "source": source, "select": [*before, {"window": window}, *after]},
        features=features, order={"seed": 5}, batch={"size": 8, "last": "PARTIAL"}, **rest)


def read(job, **arguments):
    """Returns the shard, the row's number and the columns of each row."""
    found = []
    with penstock.Loader(job, epochs=1, **arguments) as loader:
        for batch in loader:
            columns = {name: list(batch[name]) for name in batch}
            for k, (shard, number) in enumerate(batch.ids.tolist()):
                found.append((shard, number, {name: values[k] for name, values in columns.items()}))
    return found


def check(found, tables, expected):
    """Checks the rows against the numbers of the records of each window of each file."""
    assert sorted(row[:2] for row in found) == [(f, k) for f, each in enumerate(expected) for k in range(len(each))]
    for shard, number, columns in found:
        rows = [tables[FILES[shard]][k] for k in expected[shard][number]]
        assert columns["rows"].tolist() == expected[shard][number]
        assert [bytes(name).decode() for name in columns["sensor"]] == [row[0] for row in rows]
        assert columns["moment"].tolist() == [row[1] for row in rows]
        assert columns["value"].tolist() == [row[2] for row in rows]
        if "three" in columns:
            assert columns["three"].tolist() == [row[3] for row in rows]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_windows_are_those_of_a_plain_loop(tables, kind):
    folder, rows = tables
    draw = np.random.default_rng(8)
    for _ in range(6):
        size, stride, step = (int(n) for n in draw.integers(1, [9, 7, 4]))
        by = draw.random() < 0.7
        limit = float(draw.choice([-9, -1, 0]))
        window = {"size": size, "stride": stride, "step": step, **({"by": "sensor"} if by else {})}
        before = [] if limit == -9 else [{"filter": f"value > {limit}"}]
        expected = [windows_of(rows[name], size, stride, step, by, lambda row, limit=limit: row[2] > limit) for name in FILES]
        if not any(expected):
            continue
        check(read(job_of(window, kind, before), data_root=folder), rows, expected)


def test_columns_are_dense(tables):
    folder, _ = tables
    with penstock.Loader(job_of({"size": 5, "stride": 1, "by": "sensor"}), data_root=folder) as loader:
        batch = next(iter(loader))
    assert (batch["value"].shape, batch["value"].dtype) == ((8, 5), np.float32)
    assert batch["three"].shape == (8, 5, 3)
    assert (batch["rows"].shape, batch["rows"].dtype) == ((8, 5), np.int64)
    assert (np.diff(batch["moment"], axis=1) == 1).all()


def test_record_arrays_have_windows(tables):
    folder, rows = tables
    job = penstock.Job(
        name="arrays",
        dataset={"files": "*.npy", "select": [{"window": {"size": 4, "stride": 3, "by": "sensor", "records": "rows"}}]},
        features={"value": {"type": "BYTES", "decode_raw": "FLOAT32"},
                  "three": {"type": "BYTES", "decode_raw": "INT64", "shape": [3]}},
        batch={"size": 8, "last": "PARTIAL"})
    expected = [windows_of(rows[name], 4, 3) for name in FILES]
    found = read(job, data_root=folder)
    assert len(found) == sum(map(len, expected))
    for shard, number, columns in found:
        assert columns["value"].tolist() == [rows[FILES[shard]][k][2] for k in expected[shard][number]]
        assert columns["three"].tolist() == [rows[FILES[shard]][k][3] for k in expected[shard][number]]


def test_steps_that_count_keep_windows(tables):
    folder, rows = tables
    everything = [(f, k) for f, name in enumerate(FILES) for k in range(len(windows_of(rows[name], 4, 1)))]
    window = {"size": 4, "stride": 1, "by": "sensor"}
    for steps, kept in [([{"take": 20}], everything[:20]), ([{"skip": 20}, {"every": {"n": 7}}], everything[20::7])]:
        found = read(job_of(window, after=steps), data_root=folder)
        assert sorted(row[:2] for row in found) == kept
        for shard, number, columns in found:
            assert columns["rows"].tolist() == windows_of(rows[FILES[shard]], 4, 1)[number]


def test_order_resume_and_workers_are_those_of_any_job(tables):
    folder, _ = tables
    job = job_of({"size": 6, "stride": 2, "by": "sensor"})

    def places(found):
        return [row[:2] for row in found]

    whole = places(read(job, data_root=folder))
    assert whole != sorted(whole)
    with penstock.Loader(job, epochs=1, data_root=folder) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with penstock.Loader(job, epochs=1, data_root=folder) as loader:
        loader.load_state_dict(state)
        assert [tuple(place) for batch in loader for place in batch.ids.tolist()] == whole[8:]
    other = penstock.Loader(job_of({"size": 6, "stride": 3, "by": "sensor"}), epochs=1, data_root=folder)
    other.load_state_dict(state)
    with other, pytest.raises(penstock.PenstockError, match="state"):
        next(iter(other))
    with daemon(folder) as address:
        penstock.submit(job, coordinator=address)
        assert places(read("series", coordinator=address)) == whole
        text = run("describe", "series", "--coordinator", address).stdout
        assert f"{len(whole)} rows of " in text


def test_bad_records_are_in_no_window(tables):
    folder, rows = tables
    lines = (folder / "b.jsonl").read_text().splitlines()
    lines[50] = '{"sensor": "s2", "moment": "late"}'
    lines[60] = '{"moment": 1}'
    (folder / "b.jsonl").write_text("\n".join(lines) + "\n")
    window = {"size": 3, "stride": 1, "by": "sensor"}
    with pytest.raises(penstock.PenstockError, match="b.jsonl, record 60: `sensor` has no value to make windows by"):
        read(job_of(window), data_root=folder)
    masked = job_of(window, errors={"policy": "MASK", "max_bad_fraction": 0.2})
    with penstock.Loader(masked, epochs=1, data_root=folder) as loader:
        batches = [(batch.valid.copy(), batch["rows"].copy(), batch.ids.copy()) for batch in loader]
    found = {tuple(window) for valid, windows, ids in batches
             for ok, window, (shard, _) in zip(valid, windows.tolist(), ids.tolist()) if ok and shard == 1}
    # The run ends at record 60. Record 50 is found when its windows are made.
    assert not any(50 in window or 60 in window or (window[0] < 60 < window[-1]) for window in found)
    every = {tuple(window) for window in windows_of(rows["b"], 3, 1)}
    assert found == {window for window in every if 50 not in window and 60 not in window}
    assert sum(int((valid == 0).sum()) for valid, _, _ in batches) == sum(50 in window for window in every)


def test_data_sets_of_a_blend_have_windows_of_one_size(tables):
    folder, rows = tables
    job = job_of({"size": 4, "by": "sensor"})
    job.dataset[0].name, job.dataset[0].files[:], job.dataset[0].weight = "a", ["a.jsonl"], 1
    other = penstock.messages.Dataset(name="b", files=["b.jsonl"], source="JSONL", weight=1)
    job.dataset.append(other)
    job.blend.epoch_rows = 100
    with pytest.raises(penstock.PenstockError, match=r"dataset\[1\] \(b\): "):
        read(job, data_root=folder)
    job.dataset[1].select.append(penstock.messages.Select(window={"size": 4, "stride": 1, "records": "rows"}))
    expected = [windows_of(rows["a"], 4), windows_of(rows["b"], 4, 1, by=False)]
    counts = [0, 0]
    with penstock.Loader(job, epochs=1, data_root=folder) as loader:
        for batch in loader:
            for dataset, (_, number), windows in zip(batch.datasets.tolist(), batch.ids.tolist(), batch["rows"].tolist()):
                assert windows == expected[dataset][number]
                counts[dataset] += 1
    assert min(counts) > 40


def test_select_counts_the_windows(tables, tmp_path):
    folder, rows = tables
    job = tmp_path / "job.textproto"
    job.write_text(str(job_of({"size": 24, "stride": 1, "by": "sensor"}, after=[{"every": {"n": 2}}])))
    lengths = [sum(1 for row in rows[name] if row[0] == f"s{sensor}") for name in FILES for sensor in range(6)]
    count = sum(max(0, length - 23) for length in lengths)
    short = sum(length < 24 for length in lengths)
    text = run("select", job, "--data-root", folder, "--examples", 0).stdout
    assert f"records: window of 24 records, stride 1, by sensor\n    {count} windows in {18 - short} runs of up to " in text
    assert f"up to {max(lengths)} records; {short} runs are too short\n" in text
    assert f"select[1] keeps {(count + 1) // 2} of {count} windows: every 2" in text
    report = json.loads(run("select", job, "--data-root", folder, "--json").stdout)["windows"]
    kept = (count + 1) // 2
    assert report == {"rows": count, "rows_kept": kept, "runs": 18, "short_runs": short, "longest_run": max(lengths)}
    refused = run("select", job, "--data-root", folder, "--filter", "value > 9")
    assert "--filter cannot follow the job's window" in refused.stderr


def test_commands_read_the_windows(tables, tmp_path):
    folder, rows = tables
    job = tmp_path / "job.textproto"
    job.write_text(str(job_of({"size": 4, "stride": 2, "by": "sensor"})))
    preview = run("preview", job, "--data-root", folder, "--records", 4)
    assert preview.returncode == 0, preview.stderr
    assert "three   int64 [4, 3]" in preview.stdout
    bench = run("bench", job, "--data-root", folder, "--seconds", 1)
    assert bench.returncode == 0, bench.stderr
    out = tmp_path / "baked"
    baked = run("bake", job, "--data-root", folder, "--out", out, "--prefix", "w")
    assert baked.returncode == 0, baked.stderr
    (made,) = out.glob("*.textproto")
    count = sum(len(windows_of(rows[name], 4, 2)) for name in FILES)
    with penstock.Loader(str(made), epochs=1, data_root=str(out)) as loader:
        batches = [batch["value"].copy() for batch in loader]
    assert sum(len(batch) for batch in batches) == count
    assert {batch.shape[1:] for batch in batches} == {(4,)}


def test_mistakes(tables):
    folder, rows = tables
    for window, message in [
        ({"size": 0}, r"select\[0\].window.size: 0: give the number of records of a window"),
        ({"size": 4, "stride": 0}, r"select\[0\].window.stride: 0: it must be from 1"),
        ({"size": 4, "by": "sensr"}, r"select\[0\].window.by(.|\n)*did you mean 'sensor'"),
        ({"size": 4, "records": "value"}, "window.records: there is another column 'value'"),
    ]:
        with pytest.raises(penstock.PenstockError, match=message):
            read(job_of(window), data_root=folder)
    longest = max(sum(1 for row in rows[name] if row[0] == f"s{k}") for name in FILES for k in range(6))
    with pytest.raises(penstock.PenstockError, match=f"a window reaches over 100 records, and the longest run of one value of "
                                                    f"`sensor` has {longest}"):
        read(job_of({"size": 100, "by": "sensor"}), data_root=folder)
    both = job_of({"size": 4}, after=[{"pack": {"length": 8, "features": ["value"]}}])
    with pytest.raises(penstock.PenstockError, match="a `window`, makes rows of the records already"):
        read(both, data_root=folder)
