"""Jobs whose records are sorted, weighed, or in batches of similar values: what a user sees of their rows and reports."""

import collections
import itertools
import json
import logging
import re

import numpy as np
import pytest

import penstock
from fixtures import BIN
from tar_test import daemon, run

RECORDS = 300


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Records of 1 to 90 tokens, each with its number, in three files, one of which is empty."""
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    draw = np.random.default_rng(3)
    folder = tmp_path / "data"
    folder.mkdir()
    lengths = draw.integers(1, 91, RECORDS)
    lines = [json.dumps({"id": i, "tokens": [i] * int(n), "level": f"L{n // 30}", "score": float(n) / 8, "rare": 3 - i % 4})
             for i, n in enumerate(lengths)]
    (folder / "a.jsonl").write_text("\n".join(lines[:170]) + "\n")
    (folder / "b.jsonl").write_text("")
    (folder / "c.jsonl").write_text("\n".join(lines[170:]) + "\n")
    return folder, lengths


def job_of(step, **batch):
    return penstock.Job(
        name="texts", dataset={"files": "*.jsonl", "source": "JSONL", "select": [step]},
        features={"id": "INT64", "tokens": {"type": "INT64", "variable_length": True}}, order={"seed": 5},
        batch={"size": 16, "last": "PARTIAL", **batch})


def ids_of(source, epochs=1, **arguments):
    """Returns the ids of each batch."""
    with penstock.Loader(source, epochs=epochs, **arguments) as loader:
        return [batch["id"].tolist() for batch in loader]


def joined(batches):
    return list(itertools.chain.from_iterable(batches))


def test_batches_have_similar_lengths(texts):
    folder, lengths = texts
    found = ids_of(job_of({"bucket": {"by": "len(tokens)", "bins": 64}}), data_root=folder)
    assert sorted(joined(found)) == list(range(RECORDS))
    assert [len(batch) for batch in found] == [16] * 18 + [12]
    spreads = [max(lengths[batch]) - min(lengths[batch]) for batch in found]
    assert max(spreads) <= 18, spreads
    means = [np.mean(lengths[batch]) for batch in found]
    assert sum(a > b for a, b in zip(means, means[1:])) > 4, "the batches are shuffled"
    again = ids_of(job_of({"bucket": {"by": "len(tokens)", "bins": 64}}), epochs=2, data_root=folder)
    assert again[: len(found)] == found
    assert again[len(found) :] != found


def test_ranks_of_a_step_have_similar_lengths_and_a_served_job_has_the_rows(texts):
    folder, _ = texts
    job = job_of({"bucket": {"by": "len(tokens)"}}, last="DROP")
    whole = ids_of(job, data_root=folder)
    ranks = [ids_of(job, data_root=folder, rank=rank, world_size=4) for rank in range(4)]
    assert [joined(parts) for parts in zip(*ranks)] == whole
    with daemon(folder) as address:
        penstock.submit(job, coordinator=address)
        assert ids_of("texts", coordinator=address) == whole
        assert ids_of("texts", coordinator=address, batch_size=8)[0:36:2] == [batch[:8] for batch in whole]
        with pytest.raises(penstock.PenstockError, match="with `bucket` it must divide the job's batch.size, 16"):
            ids_of("texts", coordinator=address, batch_size=32)


def test_epochs_are_sorted_and_later_ones_shuffled(texts):
    folder, lengths = texts
    found = joined(ids_of(job_of({"sort": {"by": "-len(tokens)", "epochs": 2}}), epochs=3, data_root=folder))
    for epoch in range(3):
        ids = found[epoch * RECORDS : (epoch + 1) * RECORDS]
        assert sorted(ids) == list(range(RECORDS))
        assert (np.diff(lengths[ids]) <= 0).all() == (epoch < 2)
    assert found[:RECORDS] != found[RECORDS : 2 * RECORDS], "records of one length are shuffled"
    fixed = penstock.Job(
        name="t", dataset={"files": "*.jsonl", "source": "JSONL", "select": [{"sort": {"by": "level"}}]},
        features={"id": "INT64"}, order={"shuffle": "NONE"}, batch={"size": 20})
    with penstock.Loader(fixed, data_root=folder) as loader:
        ids = np.concatenate([batch["id"] for batch in loader])
    np.testing.assert_array_equal(ids, np.argsort(lengths // 30, kind="stable"))


def test_a_record_has_rows_by_its_weight(texts):
    folder, _ = texts
    counts = collections.Counter(joined(ids_of(job_of({"weights": {"by": "rare"}}), epochs=8, data_root=folder)))
    for rest in range(4):
        rows = [counts[i] for i in range(rest, RECORDS, 4)]
        assert max(rows) - min(rows) <= 1
        assert abs(np.mean(rows) - 8 * (3 - rest) / 1.5) < 0.05


def test_a_resume_after_each_batch_reads_the_rest(texts):
    folder, _ = texts
    job = job_of({"bucket": {"by": "score"}})
    whole = ids_of(job, epochs=2, data_root=folder)
    with penstock.Loader(job, data_root=folder, epochs=2) as loader:
        states = [loader.state_dict() for _ in loader]
    for done in range(0, len(whole) - 1, 5):
        with penstock.Loader(job, data_root=folder, epochs=2) as again:
            again.load_state_dict(states[done])
            assert [batch["id"].tolist() for batch in again] == whole[done + 1 :]


def test_reports_name_the_parts(texts, tmp_path):
    folder, lengths = texts
    (tmp_path / "job.textproto").write_text(job_of({"bucket": {"by": "len(tokens)", "bins": 20}}).to_text())
    out = run("select", tmp_path / "job.textproto", "--data-root", folder, "--examples", 0).stdout
    values = len(set(lengths.tolist()))
    assert f"parts of {values} values" in out
    first = re.search(r"\n      1 to (\d+): (\d+) records\n", out)
    assert int(first[2]) == (lengths <= int(first[1])).sum()
    found = json.loads(run("select", tmp_path / "job.textproto", "--data-root", folder, "--json").stdout)
    assert found["groups"]["7"] == (lengths == 7).sum()
    (tmp_path / "weights.textproto").write_text(job_of({"weights": {"by": "rare"}}).to_text().replace("texts", "rare", 1))
    (tmp_path / "sort.textproto").write_text(job_of({"sort": {"by": "level"}}).to_text().replace("texts", "level", 1))
    with daemon(folder) as address:
        out = run("submit", tmp_path / "job.textproto", "--coordinator", address).stdout
        assert re.search(r"bucket by len\(tokens\): \d+ parts, batches of 16 rows\n    1 to \d+: \d+ records\n", out), out
        out = run("submit", tmp_path / "weights.textproto", "--coordinator", address).stdout
        assert "weights: 4 groups\n    '3': 75 records, 32768 of 65536 rows, 2 passes in an epoch\n" in out, out
        assert "'0': 75 records, 0 of 65536 rows, 0 passes in an epoch" in out
        out = run("submit", tmp_path / "sort.textproto", "--coordinator", address).stdout
        assert f"sort by level: {len(set(lengths // 30))} parts\n    L0: {(lengths < 30).sum()} records\n" in out, out


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ({"weights": {"by": "level"}}, "dataset[0].select[0].weights.by: `level` is no number; give one, such as `quality`"),
        ({"weights": {"by": "rare - 1"}}, "`rare - 1` is -1; a weight is a number that is at least 0"),
        ({"weights": {"by": "rare * 0"}}, "weights: all records have a weight of 0"),
        ({"sort": {"by": "len(token)"}}, "there is no feature 'token' (did you mean 'tokens'?)"),
        ({"bucket": {"by": ""}}, 'dataset[0].select[0].bucket.by: an empty expression; give one, such as "len(tokens)"'),
        ({"bucket": {"by": "tokens"}}, "the feature 'tokens' has 74 values"),
    ],
)
def test_mistakes_are_named_with_the_remedy(texts, step, error):
    folder, _ = texts
    with pytest.raises(penstock.PenstockError) as found:
        ids_of(job_of(step), data_root=folder)
    assert error in str(found.value)


def test_a_loader_warns_of_bad_records_that_are_left_out(texts, caplog):
    folder, _ = texts
    job = job_of({"weights": {"by": "rare - 1"}})
    job = penstock.Job.from_text(job.to_text() + 'errors { policy: MASK }\n')
    for expected in ("a.jsonl: 42 records are bad, and left out of the selection; the first: ",
                     "bad records are left out of the selection: 75 in 2 files; `penstock select` shows them"):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "penstock"):
            ids = joined(ids_of(job, data_root=folder))
        assert not set(ids) & set(range(3, RECORDS, 4))
        assert any(expected in record.getMessage() for record in caplog.records), caplog.text


def test_more_values_than_groups_are_refused_with_the_remedy(texts):
    folder, _ = texts
    (folder / "many.jsonl").write_text("".join(f'{{"id": {i}, "tokens": [1]}}\n' for i in range(17_000)))
    with pytest.raises(penstock.PenstockError, match="more than 16384 groups of records; group by a value that many"):
        ids_of(job_of({"sort": {"by": "id"}}), data_root=folder)
    assert len(joined(ids_of(job_of({"sort": {"by": "id // 2"}}), data_root=folder))) == 17_000 + RECORDS
