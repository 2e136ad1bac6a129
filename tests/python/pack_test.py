"""Rows that are packed from several records: what a user sees of their columns, order and reports."""

import json

import numpy as np
import pytest

import penstock
from fixtures import BIN
from tar_test import daemon, run

RECORDS = 300
LENGTH = 64


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Records of 1 to 60 tokens, whose values show their places, in three files, one of which is empty."""
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    draw = np.random.default_rng(3)
    folder = tmp_path / "data"
    folder.mkdir()
    tokens = [[1000 * i + k for k in range(n)] for i, n in enumerate(draw.integers(1, 61, RECORDS))]
    lines = [json.dumps({"id": i, "tokens": each, "mask": [i % 2] * len(each)}) for i, each in enumerate(tokens)]
    (folder / "a.jsonl").write_text("\n".join(lines[:170]) + "\n")
    (folder / "b.jsonl").write_text("")
    (folder / "c.jsonl").write_text("\n".join(lines[170:]) + "\n")
    return folder, tokens


def job_of(pack=None, select=(), **batch):
    pack = {"length": LENGTH, "features": ["tokens", "mask"], **(pack or {})}
    return penstock.Job(
        name="texts", dataset={"files": "*.jsonl", "source": "JSONL", "select": [*select, {"pack": pack}]},
        features={
            "id": {"type": "INT64", "variable_length": True},
            "tokens": {"type": "INT64", "variable_length": True, "pad": {"value": -1}},
            "mask": {"type": "INT64", "variable_length": True},
        },
        order={"seed": 5}, batch={"size": 4, "last": "PARTIAL", **batch})


def rows_of(source, epochs=1, **arguments):
    """Returns the rows of all batches, each with a value for each column."""
    rows = []
    with penstock.Loader(source, epochs=epochs, **arguments) as loader:
        for batch in loader:
            columns = {name: list(batch[name]) for name in batch}
            rows += [{name: np.asarray(values[k]) for name, values in columns.items()} for k in range(len(batch["tokens"]))]
    return rows


def parts_of(row):
    """Returns the values of each packed record in a row."""
    ids = row["tokens_segment_ids"]
    return [row["tokens"][ids == number].tolist() for number in range(1, ids.max() + 1)]


def flat(rows):
    return [row["tokens"].tolist() for row in rows]


def test_each_record_is_in_one_row_and_the_columns_say_where(texts):
    folder, tokens = texts
    rows = rows_of(job_of(), data_root=folder)
    found = [part for row in rows for part in parts_of(row)]
    assert sorted(found) == sorted(tokens)
    values = sum(len(each) for each in tokens)
    assert values / (LENGTH * len(rows)) > 0.96
    for row in rows:
        assert (row["tokens"].dtype, row["tokens"].shape) == (np.int64, (LENGTH,))
        assert row["tokens_segment_ids"].dtype == row["tokens_positions"].dtype == np.int32
        filled = row["tokens_segment_ids"] > 0
        assert (np.diff(filled.astype(int)) <= 0).all(), "the padding is at the end"
        assert (row["tokens"][~filled] == -1).all()
        assert (row["mask"][~filled] == 0).all()
        assert (row["tokens_positions"] == np.where(filled, row["tokens"] % 1000, 0)).all()
        assert [part[0] // 1000 for part in parts_of(row)] == row["id"].tolist()
        assert (row["mask"] == np.where(filled, row["tokens"] // 1000 % 2, 0)).all()


def test_the_bounds_of_a_batch_are_those_of_its_records_and_padding(texts):
    folder, _ = texts
    outputs = {"outputs": ["SEGMENT_IDS", "POSITIONS", "LENGTHS"]}
    with penstock.Loader(job_of(outputs), data_root=folder) as loader:
        for batch in loader:
            bounds = penstock.cu_seqlens(batch["tokens_lengths"], LENGTH)
            assert (bounds.dtype, bounds[0], bounds[-1]) == (np.int32, 0, batch["tokens"].size)
            rows, ids = np.arange(batch["tokens"].size) // LENGTH, batch["tokens_segment_ids"].ravel()
            begins = (np.diff(rows, prepend=-1) != 0) | (np.diff(ids, prepend=-1) != 0)
            assert bounds[:-1].tolist() == np.flatnonzero(begins).tolist()
    with pytest.raises(ValueError, match="more than row_length=8: give the pack's length"):
        penstock.cu_seqlens(batch["tokens_lengths"], 8)
    with pytest.raises(ValueError, match="row_length=64 is no multiple of align=3: give the pack's length and align"):
        penstock.cu_seqlens(batch["tokens_lengths"], LENGTH, align=3)
    nothing = penstock.Ragged(np.zeros(0, np.int32), np.zeros(3, np.int64))
    assert penstock.cu_seqlens(nothing, 5).tolist() == [0, 5, 10]


def test_each_record_begins_at_a_multiple_of_the_alignment(texts):
    folder, tokens = texts
    pack = {"align": 16, "outputs": ["SEGMENT_IDS", "POSITIONS", "LENGTHS"]}
    found = []
    with penstock.Loader(job_of(pack), data_root=folder) as loader:
        for batch in loader:
            flat, ids = batch["tokens"].ravel(), batch["tokens_segment_ids"].ravel()
            bounds = penstock.cu_seqlens(batch["tokens_lengths"], LENGTH, align=16)
            assert (bounds % 16 == 0).all()
            assert bounds[-1] == flat.size
            for begin, end in zip(bounds[:-1], bounds[1:]):
                filled = ids[begin:end] > 0
                assert not filled.any() or (filled[0] and (np.diff(filled.astype(int)) <= 0).all())
                assert len(set(ids[begin:end][filled])) <= 1
                assert (flat[begin:end][~filled] == -1).all()
                assert (batch["tokens_positions"].ravel()[begin:end] == np.where(filled, np.arange(end - begin), 0)).all()
                if filled.any():
                    found.append(flat[begin:end][filled].tolist())
    assert sorted(found) == sorted(tokens)


def test_the_last_values_of_long_records_stay(texts):
    folder, tokens = texts
    rows = rows_of(job_of({"length": 20, "longer": "TRUNCATE", "keep": "LAST"}), data_root=folder)
    assert sorted(part for row in rows for part in parts_of(row)) == sorted(each[-20:] for each in tokens)


@pytest.mark.parametrize("keep", ["FIRST", "LAST", "RANDOM"])
def test_single_records_are_cut_where_the_job_states(texts, keep):
    folder, tokens = texts
    pad = {"length": 20, "value": -1, "truncate": True, "keep": keep, "lengths": "count"}
    job = penstock.Job(
        name="texts", dataset={"files": "*.jsonl", "source": "JSONL"},
        features={"id": {"type": "INT64"}, "tokens": {"type": "INT64", "variable_length": True, "pad": pad}},
        order={"seed": 5}, batch={"size": 4, "last": "PARTIAL"})
    begins = [{}, {}]
    with penstock.Loader(job, epochs=2, data_root=folder) as loader:
        for epoch in begins:
            for batch in loader:
                for number, row, count in zip(batch["id"], batch["tokens"], batch["count"]):
                    values = tokens[number]
                    begin = epoch[number] = int(row[0]) % 1000
                    assert row[:count].tolist() == values[begin : begin + 20]
                    assert count == min(len(values), 20)
                    assert (row[count:] == -1).all()
    longer = [number for number, values in enumerate(tokens) if len(values) > 20]
    if keep == "RANDOM":
        assert all(0 <= begins[0][n] <= len(tokens[n]) - 20 for n in longer)
        assert 0.5 * len(longer) < sum(begins[0][n] != begins[1][n] for n in longer), "each epoch draws again"
    else:
        assert begins[0] == begins[1]
        assert all(begins[0][n] == (len(tokens[n]) - 20 if keep == "LAST" else 0) for n in longer)


def test_the_order_is_that_of_any_job(texts):
    folder, _ = texts
    two = flat(rows_of(job_of(), epochs=2, data_root=folder))
    one = flat(rows_of(job_of(), data_root=folder))
    assert two[: len(one)] == one
    assert two[len(one) :] != one
    assert sorted(two[len(one) :]) == sorted(one)
    ranks = [flat(rows_of(job_of(last="DROP"), data_root=folder, rank=rank, world_size=2)) for rank in range(2)]
    assert sorted(ranks[0] + ranks[1]) == sorted(flat(rows_of(job_of(last="DROP"), data_root=folder)))
    with penstock.Loader(job_of(), epochs=1, data_root=folder) as loader:
        first = next(iter(loader))["tokens"].tolist()
        state = loader.state_dict()
    assert first == one[:4]
    with penstock.Loader(job_of(), epochs=1, data_root=folder) as loader:
        loader.load_state_dict(state)
        assert [row for batch in loader for row in batch["tokens"].tolist()] == one[4:]
    other = penstock.Loader(job_of({"length": LENGTH + 1}), epochs=1, data_root=folder)
    other.load_state_dict(state)
    with other, pytest.raises(penstock.PenstockError, match="state"):
        next(iter(other))


def test_a_served_job_has_the_rows_of_a_local_one(texts):
    folder, _ = texts
    local = flat(rows_of(job_of(), epochs=2, data_root=folder))
    with daemon(folder) as address:
        penstock.submit(job_of(), coordinator=address)
        assert flat(rows_of("texts", epochs=2, coordinator=address)) == local


def test_concatenated_rows_are_full_and_share_their_overlap(texts):
    folder, tokens = texts
    rows = rows_of(job_of({"concatenate": True, "overlap": 1, "length": 33, "outputs": ["LENGTHS", "RECORDS"]}),
                   data_root=folder)
    assert "tokens_positions" not in rows[0]
    values = [row["tokens"][: row["tokens_lengths"].sum()].tolist() for row in rows]
    assert [len(each) for each in values].count(33) >= len(rows) - 2
    # Each value is a target once, unless it begins the stream of its file.
    targets = [value for each in values for value in each[1:]]
    everything = [value for each in tokens for value in each]
    assert len(targets) == len(set(targets)) == len(everything) - 2
    for row in rows:
        assert len(row["tokens_records"]) == len(row["tokens_lengths"]) == len(row["id"])
        in_file = row["id"] - np.where(row["id"] >= 170, 170, 0)
        assert row["tokens_records"].tolist() == in_file.tolist()


def test_long_records_and_later_steps(texts):
    folder, tokens = texts
    by_default = job_of({"length": 40})
    with pytest.raises(penstock.PenstockError, match=r"'tokens' has \d+ values, and a packed row has 40: set pack.longer"):
        rows_of(by_default, data_root=folder)
    expected = {
        "DROP": [each for each in tokens if len(each) <= 40],
        "TRUNCATE": [each[:40] for each in tokens],
        "SPLIT": [each[k : k + 40] for each in tokens for k in range(0, len(each), 40)],
    }
    for longer, parts in expected.items():
        rows = rows_of(job_of({"length": 40, "longer": longer}), data_root=folder)
        assert sorted(part for row in rows for part in parts_of(row)) == sorted(parts), longer
    some = rows_of(job_of(select=[{"filter": "len(tokens) > 30"}]), data_root=folder)
    assert sorted(part for row in some for part in parts_of(row)) == sorted(each for each in tokens if len(each) > 30)


def test_steps_that_count_keep_rows_and_their_numbers(texts):
    folder, _ = texts

    def ids_of(*steps, **job):
        some = job_of(select=[])
        some.dataset[0].select.extend([penstock.messages.Select(**step) for step in steps])
        with penstock.Loader(some, epochs=1, data_root=folder) as loader:
            return sorted(map(tuple, np.concatenate([batch.ids for batch in loader]).tolist()))

    everything = ids_of()
    assert ids_of({"take": 20}) + ids_of({"skip": 20}) == everything
    assert ids_of({"every": {"n": 7}}) == everything[::7]


def test_a_limit_of_records_is_none_of_rows(texts):
    folder, tokens = texts
    job = job_of({"length": 1000})
    job.limits.max_record_bytes = 1000
    assert sorted(part for row in rows_of(job, data_root=folder) for part in parts_of(row)) == sorted(tokens)


def test_data_sets_of_a_blend_are_packed_apart(texts):
    folder, tokens = texts
    job = job_of()
    plain = penstock.messages.Dataset(name="plain", files=["a.jsonl"], weight=1)
    job.dataset[0].name, job.dataset[0].files[:], job.dataset[0].weight = "packed", ["c.jsonl"], 1
    job.dataset.append(plain)
    job.blend.epoch_rows = 200
    job.features[1].pad.length = LENGTH
    with pytest.raises(penstock.PenstockError, match=r"dataset\[1\] \(plain\): its column 'mask' is INT64, ragged"):
        rows_of(job, data_root=folder)
    job.features[1].pad.length = 0
    job.dataset[1].select.append(penstock.messages.Select(pack={"length": LENGTH + 1, "features": ["tokens", "mask"]}))
    with pytest.raises(penstock.PenstockError, match=r"dataset\[1\] \(plain\): its column 'tokens' is"):
        rows_of(job, data_root=folder)
    job.dataset[1].select[0].pack.length = LENGTH
    rows = rows_of(job, data_root=folder)
    found = {tuple(part) for row in rows for part in parts_of(row)}
    assert found <= {tuple(each) for each in tokens}
    assert len(rows) > 100


def test_select_reports_the_rows(texts, tmp_path):
    folder, tokens = texts
    job = tmp_path / "job.textproto"
    job.write_text(str(job_of(select=[{"filter": "len(tokens) > 10"}])))
    kept = [each for each in tokens if len(each) > 10]
    rows = len(rows_of(job_of(select=[{"filter": "len(tokens) > 10"}]), data_root=folder))
    text = run("select", job, "--data-root", folder, "--examples", 0).stdout
    assert f"select[1] keeps {len(kept)} of {len(kept)} records: pack of tokens, mask into rows of 64" in text
    full = 100 * sum(len(each) for each in kept) / (LENGTH * rows)
    assert f"{rows} rows of 64 values, {full:.2f} % full, with {len(kept)} parts of records" in text
    refused = run("select", job, "--data-root", folder, "--filter", "len(tokens) > 9")
    assert refused.returncode != 0
    assert "--filter cannot follow the job's pack" in refused.stderr
    report = json.loads(run("select", job, "--data-root", folder, "--json").stdout)["packed"]
    assert report == {"rows": rows, "rows_kept": rows, "parts": len(kept), "values": sum(len(each) for each in kept)}


def test_padded_features(texts):
    folder, tokens = texts
    job = penstock.Job(
        name="texts", dataset={"files": "*.jsonl", "source": "JSONL"},
        features={"tokens": {"type": "INT64", "variable_length": True,
                             "pad": {"length": 30, "value": -7, "truncate": True, "lengths": "count"}}},
        order={"seed": 5}, batch={"size": 4, "last": "PARTIAL"})
    rows = rows_of(job, data_root=folder)
    expected = [(each + [-7] * 30)[:30] for each in tokens]
    assert sorted(row["tokens"].tolist() for row in rows) == sorted(expected)
    for row in rows:
        assert row["count"].dtype == np.int32
        assert row["count"] == (row["tokens"] >= 0).sum()
