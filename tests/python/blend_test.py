"""A blend of data sets: the number of each row's data set, in process and served."""

import numpy as np

import penstock
from served import standalone

FEATURES = {"image/class/label": {"column": "label", "type": "INT64"}}


def blend(**fields):
    sets = [("web", 7, "[0-6]"), ("code", 1, "[7-9]")]
    return penstock.Job(
        name="both",
        dataset=[{"name": name, "weight": weight, "files": [f"demo-0000{digit}*"]} for name, weight, digit in sets],
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
