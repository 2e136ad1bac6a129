"""Constructors check the job and the data roots in the command line's words. Loaders warn about dropped rows."""

import logging
import pickle
import subprocess

import pytest

import penstock
from fixtures import BIN


def command_says(folder, *arguments):
    """Returns the error of `penstock ARGUMENTS...`, without the command's name."""
    done = subprocess.run([BIN / "penstock", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0, done.stdout
    return done.stderr.strip().removeprefix(f"penstock {arguments[0]}: ")


def loader_says(job, **arguments):
    with pytest.raises(penstock.ConfigurationError) as caught:
        penstock.Loader(job, **arguments)
    return str(caught.value)


@pytest.fixture
def folder(small_job, tmp_path, monkeypatch):
    """A folder as users have it: `small.textproto`, and shards in `data`."""
    monkeypatch.delenv("PENSTOCK_COORDINATOR", raising=False)
    monkeypatch.chdir(tmp_path)
    with open(small_job.path) as job:
        (tmp_path / "small.textproto").write_text(job.read())
    (tmp_path / "data").symlink_to(small_job.data)
    return tmp_path


# ---- the job


def test_what_is_no_job_file_is_said_as_submit_says_it(folder):
    shard = sorted(path.name for path in (folder / "data").iterdir())[0]
    (folder / "large").write_bytes(bytes(2 << 20))
    text = (folder / "small.textproto").read_text()
    (folder / "wrong.textproto").write_text(text.replace("height: 32 width: 32", "size: 32"))
    for job in (f"data/{shard}", "data", "smal.textproto", "nowhere/x.textproto", "large", "wrong.textproto", "data/*"):
        assert loader_says(job, data_root="data") == command_says(folder, "submit", job)
    assert "(write height: and width:)" in loader_says("wrong.textproto", data_root="data")
    assert "this is a folder (`penstock init data --out job.textproto`" in loader_says("data")
    assert "did you mean 'small.textproto'" in loader_says("smal.textproto")


def test_a_word_that_is_no_file_may_be_a_coordinators_job(folder, monkeypatch):
    said = loader_says("small")
    assert "there is no file small" in said
    assert "for a job of that name at a coordinator give coordinator='HOST:PORT'" in said
    monkeypatch.setenv("PENSTOCK_COORDINATOR", "nowhere:1")
    assert repr(penstock.Loader("small")).startswith("<penstock.Loader of job 'small': ")


def test_a_file_does_not_go_with_a_coordinator(folder):
    for job in ("small.textproto", folder / "small.textproto", "data/train-00000", penstock.Job(files="x")):
        said = loader_says(job, coordinator="nowhere:1")
        assert "coordinator='nowhere:1' serves jobs by their names" in said
        assert "submit it (penstock.submit), and give its name" in said


def test_the_mistakes_of_a_job_object_are_all_said(folder):
    said = loader_says(penstock.Job(files="*", features={"image/encoded": "BYTES"}, ops=[penstock.ops.decode_image()]))
    assert said.startswith("this job has 2 mistakes:\n")
    assert "batch.size: the global batch size is missing" in said


def test_names_that_look_like_flags_are_files(folder):
    (folder / "-x.textproto").write_text((folder / "small.textproto").read_text())
    assert len(penstock.Loader("-x.textproto", data_root="data")) == 5
    assert "there is no file ./-" in loader_says("-")


# ---- the data roots


@pytest.mark.parametrize("root", ["/", "nowhere", "small.textproto"])
def test_a_data_root_that_cannot_be_one_is_said_as_preview_says_it(folder, root):
    assert loader_says("small.textproto", data_root=root).replace(str(folder) + "/", "") == command_says(
        folder, "preview", "small.textproto", "--out", "sheet.png", "--data-root", root
    )


def test_a_data_root_with_a_name_may_be_all_of_the_file_system(folder):
    job = penstock.Job.load("small.textproto")
    job.dataset[0].files = [str((folder / "data").resolve() / "*")]
    assert len(penstock.Loader(job, data_root={"all": "/"})) == 5


# ---- the cost of checks, and their limits


def test_a_constructor_leaves_no_process_and_a_loader_can_be_pickled(folder):
    import penstock._feeder as feeder

    loader = penstock.Loader("small.textproto", data_root="data")
    assert feeder.current_feeder() is None
    assert repr(loader) == "<penstock.Loader of job 'small': epoch 0, batch size 20, rank 0 of 1>"
    assert len(pickle.loads(pickle.dumps(loader))) == 5


# ---- dropped rows


def warnings_of(caplog, loader):
    caplog.clear()
    with caplog.at_level(logging.WARNING, "penstock"):
        for _ in loader:
            pass
    return [record.getMessage() for record in caplog.records]


def test_a_loader_warns_of_rows_that_are_dropped_as_submit_does(folder, caplog):
    assert warnings_of(caplog, penstock.Loader("small.textproto", data_root="data")) == []
    assert warnings_of(caplog, penstock.Loader("small.textproto", data_root="data", batch_size=64)) == [
        "job 'small': batch: an epoch has 100 rows: 1 step of 64, 36 rows (36.0 %) are dropped at its end: "
        "batch { size: 32 } leaves out less, last: PAD or PARTIAL nothing"
    ]


def test_one_rank_warns_for_all(folder, caplog):
    for rank in range(2):
        loader = penstock.Loader("small.textproto", data_root="data", batch_size=64, rank=rank, world_size=2)
        assert len(warnings_of(caplog, loader)) == (1 if rank == 0 else 0)


def test_a_job_that_drops_nothing_does_not_warn(folder, caplog):
    job = penstock.Job.load("small.textproto")
    job.batch = {"size": 64, "last": "PAD"}
    assert warnings_of(caplog, penstock.Loader(job, data_root="data")) == []


# ---- memory


def test_the_memory_error_says_how_many_bytes_are_needed(folder):
    job = penstock.Job.load("small.textproto")
    job.ops[1].random_resized_crop.height = job.ops[1].random_resized_crop.width = 512
    job.batch.size = 100  # 78.6 MB
    with pytest.raises(penstock.MachineError, match="a batch needs [0-9]+ bytes more, and 0 of the 16777216 bytes") as caught:
        next(iter(penstock.Loader(job, data_root="data", memory="1MiB")))
    needed = int(str(caught.value).rsplit("memory= at least ", 1)[1].split()[0])
    assert 100 * 512 * 512 * 3 < needed < 2 * 100 * 512 * 512 * 3
    penstock.shutdown()
    assert next(iter(penstock.Loader(job, data_root="data", memory=needed))).rows == 100


def test_the_memory_error_counts_what_is_held(folder):
    loader = penstock.Loader("small.textproto", data_root="data", memory="16MiB", epochs=0)
    with pytest.raises(penstock.MachineError, match=r"the trainer holds \d{2,} batches of \d{6,} bytes in all"):
        kept = list(loader)  # noqa: F841


# ---- an evaluation job


def test_init_writes_an_evaluation_that_has_every_record_once(folder):
    job = penstock.init("data", eval=True)
    text = str(job)
    assert job.name == "data-eval"
    assert job.order.shuffle == "NONE"
    assert job.batch.last == "PAD"
    assert "resize { shorter_side: 256 }" in text
    assert "center_crop { height: 224 width: 224 }" in text
    assert "random" not in text
    rows = [tuple(row) for batch in penstock.Loader(job) for row in batch.ids[batch.valid].tolist()]
    assert rows == sorted(rows)
    assert len(set(rows)) == 100
