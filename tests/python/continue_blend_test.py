"""A run that continues with another blend: each data set gives its next row, served and in process."""

import numpy as np
import pytest

import penstock
from served import standalone
from tar_test import run

FEATURES = {"image/class/label": {"column": "label", "type": "INT64"}}
FILES = {"web": "demo-0000[0-4]*", "code": "demo-0000[5-7]*", "math": "demo-0000[89]*"}  # 50, 30 and 20 records


def blend(name, weights, files=FILES, seed=3, **fields):
    return penstock.Job(
        name=name,
        dataset=[{"name": each, "weight": weight, "files": files[each]} for each, weight in weights.items()],
        features=FEATURES,
        order={"seed": seed},
        batch=16,
        blend={"epoch_rows": 96, **fields},
    )


def read(source, batches, state=None, **arguments):
    """Returns the records of each data set in order, of `batches` batches, and the state after them."""
    rows = {}
    with penstock.Loader(source, **arguments) as loader:
        if state is not None:
            loader.load_state_dict(state)
        while batches > 0:
            for batch in loader:
                for number, (shard, record) in zip(batch.datasets, batch.ids, strict=True):
                    rows.setdefault(loader.datasets[number], []).append((int(shard), int(record)))
                batches -= 1
                if batches == 0:
                    break
        return rows, loader.state_dict()


def alone(small_job, name, count):
    """Returns the first rows of the data set in a job of it alone."""
    rows, _ = read(blend("alone", {name: 1}), -(-count // 16), data_root=small_job.data)
    return rows[name][:count]


@pytest.mark.parametrize("batches", [1, 4, 8])
def test_each_data_set_goes_on_with_its_next_row(small_job, batches):
    where = {"data_root": small_job.data}
    old = blend("run", {"web": 5, "code": 3})
    before, state = read(old, batches, **where)
    # Other weights, a data set more; then one less.
    second = penstock.continue_blend(blend("run", {"math": 2, "code": 5, "web": 1}), of=old, state=state, **where)
    middle, state = read(second, 5, state, **where)
    third = penstock.continue_blend(blend("run", {"web": 1, "math": 1}), of=second, state=state, **where)
    end, state = read(third, 5, state, **where)
    fourth = penstock.continue_blend(blend("run", {"code": 1}), of=third, state=state, **where)
    last, _ = read(fourth, 2, state, **where)
    for name in FILES:
        rows = [row for part in (before, middle, end, last) for row in part.get(name, [])]
        assert rows == alone(small_job, name, len(rows)), name
    assert len(last["code"]) == 32, "a data set that comes back goes on"


def test_a_served_run_goes_on_after_its_job_is_replaced(small_job, tmp_path):
    old, new = blend("run", {"web": 5, "code": 3}), blend("run", {"code": 1, "math": 1})
    with standalone(small_job, tmp_path) as address:
        penstock.submit(old, coordinator=address)
        before, state = read("run", 7, coordinator=address)
        made = penstock.continue_blend(new, of="run", state=state, coordinator=address)
        penstock.submit(made, coordinator=address, replace=True)
        after, later = read("run", 8, state, coordinator=address)
        for name in ("code", "math"):
            rows = before.get(name, []) + after[name]
            assert rows == alone(small_job, name, len(rows)), name
        whole, _ = read("run", 2, later, coordinator=address)
        with pytest.raises(penstock.PenstockError, match="continues another blend at epoch 1, position 16"):
            read("run", 1, coordinator=address)
        with pytest.raises(penstock.PenstockError, match="the state is not one of job run"):
            penstock.continue_blend(new, of="run", state=state, coordinator=address)
        assert sum(len(rows) for rows in whole.values()) == 32


def test_a_state_of_another_place_is_rejected(small_job):
    where = {"data_root": small_job.data}
    old = blend("run", {"web": 5, "code": 3})
    _, early = read(old, 1, **where)
    _, state = read(old, 2, **where)
    made = penstock.continue_blend(blend("run", {"web": 1, "code": 1}), of=old, state=state, **where)
    with pytest.raises(penstock.PenstockError, match="at epoch 0, position 32, and the saved state is at epoch 0, position 16"):
        read(made, 1, early, **where)
    _, late = read(old, 3, **where)
    with pytest.raises(penstock.PenstockError, match="at epoch 0, position 32, and the saved state is at epoch 0, position 48"):
        read(made, 1, late, **where)
    with pytest.raises(penstock.PenstockError, match="there is no state to continue"):
        read(made, 1, **where)
    read(made, 1, state, **where)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"files": {**FILES, "code": "demo-0000[56]*"}}, r"dataset\[1\] 'code' is not the one of the blend"),
        ({"seed": 4}, r"dataset\[0\] 'web' is not the one of the blend"),
    ],
)
def test_a_data_set_that_has_changed_is_named(small_job, change, message):
    where = {"data_root": small_job.data}
    old = blend("run", {"web": 5, "code": 3})
    _, state = read(old, 2, **where)
    made = penstock.continue_blend(blend("run", {"web": 1, "code": 1}, **change), of=old, state=state, **where)
    with pytest.raises(penstock.PenstockError, match=message):
        read(made, 1, state, **where)


def test_mistakes_have_a_remedy(small_job):
    where = {"data_root": small_job.data}
    old = blend("run", {"web": 5, "code": 3})
    _, state = read(old, 2, **where)

    def error(job, of=old, at=state):
        with pytest.raises(penstock.PenstockError) as raised:
            penstock.continue_blend(job, of=of, state=at, **where)
        return str(raised.value)

    new = blend("run", {"web": 1, "code": 1})
    assert "add blend { }" in error(penstock.Job(files="demo-*", features=FEATURES, batch=16))
    plain = penstock.Job(files="demo-*", features=FEATURES, batch=16)
    assert "its data set has no name" in error(new, of=plain)
    new.blend.epoch_rows = 128
    assert "has 96 rows, and keeps this length" in error(new)
    with pytest.raises(penstock.ConfigurationError, match="serves jobs by their names, and this is a penstock.Job"):
        penstock.continue_blend(new, of=old, state=state, coordinator="localhost:1")
    new.blend.epoch_rows = 96
    new.blend.batches = "EXACT"
    new.batch.size = 48
    assert "continues a run at position 32; give a size that divides 32" in error(new)
    new.batch.size = 16
    assert penstock.continue_blend(new, of=old, state=state, **where).blend.start.position == 32
    new.order.repeats = 2
    new.blend.epoch_rows = 0
    assert "order.repeats: the length of an epoch is that of the run; leave it out" in error(new)
    assert "not a session state" in error(blend("run", {"web": 1}), at="nonsense")
    assert "order fingerprint" in error(blend("run", {"web": 1}), of=blend("run", {"web": 4, "code": 3}))


def test_a_data_set_with_ops_of_its_own_that_comes_is_named(small_job):
    where = {"data_root": small_job.data}
    old = blend("run", {"web": 5, "code": 3})
    _, state = read(old, 2, **where)
    new = blend("run", {"web": 1, "code": 1, "math": 1})
    double = penstock.ops.scale(column="label", factor=2, to="FLOAT32")
    new.dataset[2].ops = [double, penstock.ops.cast(column="label", to="INT64")]
    made = penstock.continue_blend(new, of=old, state=state, **where)
    with pytest.raises(penstock.PenstockError, match="a data set with features or ops of its own has come or gone"):
        read(made, 1, state, **where)
    rows, _ = read(made, 3, state, accept_new_pipeline=True, **where)
    assert sorted(rows) == ["code", "math", "web"]


def test_a_change_before_the_place_is_a_warning(small_job, tmp_path):
    old = blend("run", {"web": 5, "code": 3}, change=[{"at_rows": 64, "weights": [{"key": "code", "value": 5}]}])
    _, state = read(old, 5, data_root=small_job.data)
    (tmp_path / "state").write_text(state["state"])
    for name, job in (("old", old), ("new", blend("run", {"web": 1, "code": 1}, change=old.blend.change))):
        job.save(tmp_path / f"{name}.textproto")
    said = run("continue", tmp_path / "new.textproto", "--of", tmp_path / "old.textproto", "--state", tmp_path / "state",
               "--data-root", small_job.data, "--out", tmp_path / "made.textproto")
    assert "blend.change[0] begins at row 64, before this place, so its weights hold" in said.stderr
    assert "web continues after" in said.stdout


def test_a_job_without_the_length_of_an_epoch_gets_that_of_the_run(small_job):
    where = {"data_root": small_job.data}
    old = blend("run", {"web": 5, "code": 3})
    _, state = read(old, 2, **where)
    new = blend("run", {"web": 1, "code": 1})
    new.blend.epoch_rows = 0
    made = penstock.continue_blend(new, of=old, state=state, **where)
    assert made.blend.epoch_rows == 96
    assert np.sum([len(rows) for rows in read(made, 4, state, **where)[0].values()]) == 64
