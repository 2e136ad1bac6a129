"""A blend of data sets: the number of each row's data set, in process and served."""

import glob
import json
import os

import numpy as np
import pytest

import penstock
from served import standalone

FEATURES = {"image/class/label": {"column": "label", "type": "INT64"}}


def blend(selects=((), ()), **fields):
    sets = [("web", 7, "[0-6]"), ("code", 1, "[7-9]")]
    return penstock.Job(
        name="both",
        dataset=[
            {"name": name, "weight": weight, "files": [f"demo-0000{digit}*"], "select": [{"filter": each} for each in select]}
            for (name, weight, digit), select in zip(sets, selects, strict=True)
        ],
        features=FEATURES,
        batch=16,
        **fields,
    )


def rows(source, **arguments):
    """Returns the names of the data sets, and for each row the data set, the shard, the record and the label."""
    with penstock.Loader(source, **arguments) as loader:
        columns = [np.column_stack([b.datasets, b.ids, b["label"]]) for b in loader]
        return loader.datasets, np.concatenate(columns)


def test_rows_have_their_data_set_in_process_and_served(small_job, tmp_path):
    job = blend(blend={"epoch_rows": 192}, order={"seed": 3})
    names, local = rows(job, data_root=small_job.data)
    assert names == ("web", "code")
    assert np.bincount(local[:, 0]).tolist() == [168, 24]
    assert local[local[:, 0] == 1][:, 1].max() == 2, "shards are numbered in each data set"
    with standalone(small_job, tmp_path) as address:
        penstock.submit(job, coordinator=address)
        served_names, served = rows("both", coordinator=address)
    assert served_names == names
    np.testing.assert_array_equal(served, local)


def test_data_sets_select_their_own_records(small_job, tmp_path):
    selects = [["col('image/class/label') < 4"], ["col('image/class/label') >= 4"]]
    job = blend(selects, blend={"epoch_rows": 64}, order={"seed": 3})
    _, local = rows(job, data_root=small_job.data)
    assert set(local[local[:, 0] == 0][:, 3]) == {0, 1, 2, 3}
    assert set(local[local[:, 0] == 1][:, 3]) <= set(range(4, 10))
    with standalone(small_job, tmp_path) as address:
        penstock.submit(job, coordinator=address)
        _, served = rows("both", coordinator=address)
    np.testing.assert_array_equal(served, local)


def test_a_data_set_of_json_lines_has_its_own_features(small_job, tmp_path):
    lines = [json.dumps({"class": 100 + i}) for i in range(30)]
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "one.jsonl").write_text("\n".join(lines))
    for shard in glob.glob(f"{small_job.data}/demo-*"):
        os.link(shard, tmp_path / "lines" / os.path.basename(shard))
    job = penstock.Job(
        name="both",
        dataset=[
            {"name": "web", "weight": 1, "files": "demo-*", "features": FEATURES},
            {"name": "lines", "weight": 1, "files": "*.jsonl", "features": {"class": {"column": "label", "type": "INT64"}}},
        ],
        blend={"epoch_rows": 60},
        batch=12,
    )
    names, found = rows(job, data_root=tmp_path / "lines")
    assert names == ("web", "lines")
    classes = found[found[:, 0] == 1][:, 3].tolist()
    assert 28 <= len(classes) <= 32
    assert len({*classes[:30]}) == len(classes[:30]), "a pass has each line once"
    assert {*classes} <= {*range(100, 130)}
    assert found[found[:, 0] == 0][:, 3].max() < 10


def test_the_data_sets_are_a_column_of_a_loop(small_job):
    job = blend(blend={"epoch_rows": 64})
    with penstock.Loader(job, data_root=small_job.data, columns=("datasets", "label")) as loader:
        sets = [numbers for numbers, _ in loader]
    assert np.bincount(np.concatenate(sets)).tolist() == [56, 8]


def test_a_job_without_names_has_one_data_set(small_job):
    job = penstock.Job(files="demo-*", features=FEATURES, batch=20)
    with penstock.Loader(job, data_root=small_job.data) as loader:
        assert loader.datasets == ()
        assert next(iter(loader)).datasets.tolist() == [0] * 20


def test_the_statistics_have_the_rows_and_passes_of_each_data_set(small_job, tmp_path):
    job = blend(blend={"epoch_rows": 192}, order={"seed": 3})

    def numbers(source, **arguments):
        with penstock.Loader(source, **arguments) as loader:
            rows = np.bincount(np.concatenate([b.datasets for b in loader]), minlength=2)
            stats = loader.stats()
        for number, name in enumerate(("web", "code")):
            assert stats[f"feeder_dataset_{name}_rows"] == rows[number]
        return [stats[f"feeder_dataset_{name}_{what}"] for name in ("web", "code") for what in ("rows", "passes")]

    local = numbers(job, data_root=small_job.data)
    assert local == pytest.approx([168, 168 / 70, 24, 24 / 30]), "each shard has 10 records"
    with standalone(small_job, tmp_path) as address:
        penstock.submit(job, coordinator=address)
        assert numbers("both", coordinator=address) == pytest.approx(local)
        # A rank gets its own rows; the passes are those of all ranks.
        rank = numbers("both", coordinator=address, rank=0, world_size=2, batch_size=16)
        assert rank[0] + rank[2] == 96
        assert [rank[1], rank[3]] == pytest.approx([local[1], local[3]])
