"""A job that balances classes: its rows, in process and served; its report; mistakes and their remedies."""

import collections
import json
import re

import numpy as np
import pytest

import penstock
from fixtures import BIN
from served import standalone
from tar_test import run

LABEL = {"image/class/label": {"column": "label", "type": "INT64"}}


def job_of(**fields):
    """Keeps all records of label 0, and about a third of the others."""
    select = [{"filter": "col('image/class/label') == 0 or hash(col('image/encoded')) % 3 == 0"},
              {"balance": {"by": "col('image/class/label')", **fields}}]
    return penstock.Job(name="even", dataset={"files": "demo-*", "select": select}, features=LABEL, order={"seed": 3},
                        batch={"size": 5, "last": "PARTIAL"})


def rows(source, **arguments):
    with penstock.Loader(source, epochs=4, **arguments) as loader:
        assert loader.datasets == ()
        return np.concatenate([np.column_stack([batch.ids, batch["label"]]) for batch in loader])


def passes_are_exact(found):
    """Returns the rows of each label, after a check that each pass has each of its records once."""
    counts = {}
    for label in np.unique(found[:, 2]):
        ids = [tuple(row) for row in found[found[:, 2] == label][:, :2].tolist()]
        records = len(set(ids))
        for start in range(0, len(ids) - records + 1, records):
            assert len(set(ids[start : start + records])) == records, f"label {label}, row {start}"
        counts[int(label)] = len(ids)
    return counts


def test_each_class_has_its_share_and_exact_passes(small_job, tmp_path):
    local = rows(job_of(), data_root=small_job.data)
    counts = passes_are_exact(local)
    assert len(counts) > 5
    assert max(counts.values()) - min(counts.values()) <= 4, counts
    natural = passes_are_exact(rows(job_of(power=1), data_root=small_job.data))
    assert natural[0] > 2 * np.median(list(natural.values())), natural
    with standalone(small_job, tmp_path) as address:
        penstock.submit(job_of(), coordinator=address)
        np.testing.assert_array_equal(rows("even", coordinator=address), local)


def test_a_resume_after_each_batch_reads_the_rest(small_job):
    job = job_of(power=0.5)
    whole = rows(job, data_root=small_job.data)
    with penstock.Loader(job, data_root=small_job.data, epochs=4) as loader:
        states, seen = [], 0
        for batch in loader:
            seen += len(batch.ids)
            states.append((seen, loader.state_dict()))
    for done, state in states[:-1:3]:
        with penstock.Loader(job, data_root=small_job.data, epochs=4) as again:
            again.load_state_dict(state)
            rest = np.concatenate([np.column_stack([batch.ids, batch["label"]]) for batch in again])
        np.testing.assert_array_equal(rest, whole[done:])


def small_job_labels(small_job):
    job = penstock.Job(files="demo-*", features=LABEL, batch=1)
    with penstock.Loader(job, data_root=small_job.data) as loader:
        return collections.Counter(int(batch["label"][0]) for batch in loader)


def test_submit_prints_the_groups_and_their_passes(small_job, tmp_path):
    job = tmp_path / "even.textproto"
    job.write_text(job_of().to_text())
    with standalone(small_job, tmp_path) as address:
        out = run("submit", job, "--coordinator", address).stdout
    groups = int(re.search(r"balance: (\d+) groups", out)[1])
    shares = [int(share) for share in re.findall(r"records, (\d+) of 65536 rows, [0-9.]+ passes in an epoch", out)]
    assert len(shares) == groups
    assert sum(shares) == 65536
    assert max(shares) - min(shares) <= 1
    assert f"'0': {small_job_labels(small_job)[0]} records" in out


def table(folder, rows_of):
    folder.mkdir()
    for number, names in enumerate(rows_of):
        lines = ["id,kind", *(f"{100 * number + i},{name}" for i, name in enumerate(names))]
        (folder / f"{number}.csv").write_text("\n".join(lines) + "\n")
    return penstock.Job(
        dataset={"files": "*.csv", "source": "CSV", "select": [{"balance": {"by": "kind"}}]},
        features={"id": "INT64", "kind": "BYTES"}, batch=10)


def test_classes_of_a_table_are_strings(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    job = table(tmp_path / "data", [["cat"] * 70 + ["dog"] * 2, [], ["Ünï x"] * 3 + ["cat"] * 25])
    with penstock.Loader(job, data_root=tmp_path / "data", epochs=2) as loader:
        kinds = collections.Counter(kind.decode() for batch in loader for kind in batch["kind"])
    assert sum(kinds.values()) == 200
    assert all(65 <= count <= 68 for count in kinds.values()), kinds


@pytest.mark.parametrize(
    ("select", "error"),
    [
        ([{"balance": {}}], "dataset[0].select[0].balance.by: an empty expression; give one"),
        ([{"balance": {"by": "kind", "power": 2}}], "balance.power: 2: it must be from 0 (equal shares) to 1"),
        ([{"take": 9}, {"balance": {"by": "kind"}}], "it does not work with steps that count records"),
        ([{"balance": {"by": "kinds"}}], "there is no feature 'kinds' (did you mean 'kind'?)"),
        ([{"balance": {"by": "1 / (id - 3)"}}], "0.csv, record 3: "),
        ([{"filter": "id > 1000"}, {"balance": {"by": "kind"}}], "keeps none of the 10 records"),
    ],
)
def test_mistakes_have_a_remedy(tmp_path, monkeypatch, select, error):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    job = table(tmp_path / "data", [["a"] * 10])
    job.dataset[0].select = select
    with pytest.raises(penstock.PenstockError) as raised:
        next(iter(penstock.Loader(job, data_root=tmp_path / "data")))
    assert error in str(raised.value)


def test_a_value_of_each_record_makes_too_many_groups(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    job = table(tmp_path / "data", [["a"] * 20000])
    job.dataset[0].select[0].balance.by = "id"
    with pytest.raises(penstock.PenstockError, match="more than 16384 groups of records; group by a value that many"):
        next(iter(penstock.Loader(job, data_root=tmp_path / "data")))
    (tmp_path / "many.textproto").write_text(job.to_text())
    selected = run("select", tmp_path / "many.textproto", "--data-root", tmp_path / "data", "--json")
    assert selected.returncode == 1
    assert selected.stdout == ""
    assert "more than 16384 groups of records; group by a value that many records have" in selected.stderr


def test_many_groups_have_their_shares(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(1)
    names = [f"c{int(n)}" for n in np.minimum(rng.zipf(1.3, 12000), 1000)]
    job = table(tmp_path / "data", [names[:5000], names[5000:5001], names[5001:]])
    job.batch.size = 1000
    found = [batch["kind"] for batch in penstock.Loader(job, data_root=tmp_path / "data")]
    counts = collections.Counter(kind for kinds in found for kind in kinds)
    assert len(counts) == len(set(names))
    assert sum(counts.values()) == 12000
    wanted = 12000 / len(counts)
    assert all(abs(count - wanted) <= 3 for count in counts.values()), (wanted, counts.most_common(3))


def test_select_shows_the_step(small_job, tmp_path):
    job = tmp_path / "even.textproto"
    job.write_text(job_of().to_text())
    out = run("select", job, "--data-root", small_job.data).stdout
    assert "balance by col('image/class/label')" in out
    report = json.loads(run("select", job, "--data-root", small_job.data, "--json").stdout)
    assert report["matches_by_step"][0] == report["matches_by_step"][1]
