"""Jobs that are read without a daemon: the effects of a loader's arguments in the feeder."""

import os
from pathlib import Path

import pytest

import penstock


def contents(loader):
    return [(batch.ids.tolist(), batch["image"].tobytes(), batch["label"].tolist()) for batch in loader]


def threads_of(process):
    names = []
    for task in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{task}/comm") as comm:
            names.append(comm.read().strip())
    return names


def test_threads_that_only_read_give_the_same_batches(small_job):
    expected = contents(penstock.Loader(small_job.path, data_root=small_job.data))
    penstock.shutdown()
    loader = penstock.Loader(small_job.path, data_root=small_job.data, threads=2, read_threads=3)
    assert contents(loader) == expected
    feeder = loader._core.stream.feeder
    assert sum(name.startswith("ps-read") for name in threads_of(feeder.process_id)) == 3
    assert feeder.welcome.threads == 2


def test_a_key_that_no_record_has_is_refused_unless_it_is_meant(small_job):
    with open(small_job.path) as file:
        text = file.read()
    typo = 'features { key: "image/tagz" column: "tags" type: INT64 variable_length: true }'
    job = penstock.Job.from_text(f"{text}\n{typo}\n")
    with pytest.raises(penstock.ConfigurationError, match="has a key .image/tagz"):
        len(penstock.Loader(job, data_root=small_job.data))
    first = next(iter(penstock.Loader(job, data_root=small_job.data, allow_missing=True)))
    assert len(first["tags"].values) == 0


def test_a_served_job_is_not_asked_what_was_said_when_it_was_submitted():
    with pytest.raises(penstock.ConfigurationError, match="allow_missing is an argument of submit for a served job"):
        penstock.Loader("train", coordinator="localhost:1", allow_missing=True)


def test_read_threads_are_the_first_loaders_to_say(fake):
    assert len(fake("steps=1", read_threads=4)) == 1
    assert len(fake("steps=1")) == 1
    with pytest.raises(penstock.ConfigurationError, match="read_threads=5: the loaders of a process share one feeder"):
        len(fake("steps=1", read_threads=5))


@pytest.mark.parametrize(("count", "message"), [(-1, "read_threads=-1 is less than 0"), (513, "read_threads=513: at most 512")])
def test_a_count_of_read_threads_that_cannot_be_is_refused_at_once(fake, count, message):
    with pytest.raises(penstock.ConfigurationError, match=message):
        fake(read_threads=count)


def test_a_cache_on_disk_gives_the_same_batches_cold_and_in_the_next_process(small_job, tmp_path):
    expected = contents(penstock.Loader(small_job.path, data_root=small_job.data))
    for _ in range(2):
        penstock.shutdown()
        kept = {"disk_cache": tmp_path / "disk", "disk_cache_size": "64MiB"}
        loader = penstock.Loader(small_job.path, data_root=small_job.data, **kept)
        assert contents(loader) == expected
    assert sum(path.stat().st_size for path in (tmp_path / "disk").rglob("records")) > 0


def test_a_folder_that_is_no_cache_is_refused_by_name(small_job, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    penstock.shutdown()
    with pytest.raises(penstock.PenstockError, match="has files in it that are not a cache's"):
        contents(penstock.Loader(small_job.path, data_root=small_job.data, disk_cache=tmp_path))


def test_finished_rows_that_are_kept_are_the_same(small_job, tmp_path):
    lines = Path(small_job.path).read_text().replace("random_resized_crop", "resize").splitlines()
    path = tmp_path / "evaluation.textproto"
    path.write_text("\n".join(line for line in lines if "random" not in line))
    loader = penstock.Loader(path, data_root=small_job.data)
    expected = [contents(loader) for _ in range(2)]
    penstock.shutdown()
    loader = penstock.Loader(path, data_root=small_job.data, row_cache="64MiB")
    assert [contents(loader) for _ in range(2)] == expected
    stats = loader.stats()
    assert stats["feeder_row_cache_hits"] > 0
    assert 0 < stats["feeder_row_cache_bytes"] <= stats["feeder_row_cache_limit"] == 64 << 20
    assert stats["feeder_row_cache_served_bytes"] > 0
    assert stats["feeder_row_cache_saved_seconds"] >= 0


def test_caches_that_are_chosen_or_none_give_the_same_batches(small_job):
    loader = penstock.Loader(small_job.path, data_root=small_job.data, record_cache=0, decoded_cache=0, row_cache=0)
    expected = [contents(loader) for _ in range(4)]
    assert "feeder_record_cache_limit" not in loader.stats()
    with pytest.raises(penstock.ConfigurationError, match="row_cache='?1048576"):
        contents(penstock.Loader(small_job.path, data_root=small_job.data, row_cache="1MiB"))
    penstock.shutdown()
    loader = penstock.Loader(small_job.path, data_root=small_job.data)
    assert [contents(loader) for _ in range(4)] == expected
