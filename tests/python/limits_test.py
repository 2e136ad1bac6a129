"""Trainers under limits of the system."""

import resource
import subprocess
import sys

import pytest

import penstock
from fixtures import BIN

SCRIPT = """
import sys
import penstock
from fixtures import BIN

memory = sys.argv[3]
loader = penstock.Loader(sys.argv[1], data_root=sys.argv[2], threads=1, **({"memory": memory} if memory else {}))
try:
    print(sum(len(batch["label"]) for batch in loader))
except penstock.PenstockError as error:
    print(error)
"""


def _with_file_size(limit, job, memory=""):
    def set_limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, job.path, job.data, memory],
        preexec_fn=set_limit,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_limit_of_file_size_bounds_the_arena_and_ends_nothing(small_job):
    unlimited = _with_file_size(resource.RLIM_INFINITY, small_job)
    assert int(unlimited) > 0
    assert _with_file_size(64 << 20, small_job) == unlimited


def test_memory_beyond_the_limit_of_file_size_is_an_error_that_names_it(small_job):
    message = _with_file_size(64 << 20, small_job, "128MiB")
    assert "RLIMIT_FSIZE (ulimit -f) allows files of 67108864 bytes" in message
    assert "`memory`" in message


def test_the_memory_of_a_disk_cache_is_inside_the_budget(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    with penstock.ShardWriter(tmp_path / "data", prefix="big") as writer:
        for _ in range(8):
            writer.write({"x": b"x" * (8 << 20)})
    job = penstock.Job.from_text(
        f"""
        name: "big" dataset {{ files: "big-*" }} batch {{ size: 8 }}
        features {{ key: "x" type: BYTES decode_raw: UINT8 shape: {8 << 20} }}
        """
    )

    def room_for_rows(**arguments):
        loader = penstock.Loader(job, data_root=str(tmp_path / "data"), threads=1, memory_budget="16MiB", **arguments)
        with pytest.raises(penstock.MachineError) as caught:
            next(iter(loader))
        penstock.shutdown()
        return int(str(caught.value).split(" bytes that the budget has for rows")[0].split()[-1])

    # Rows have 15/16 of the budget. A disk cache first takes a 64th for its index and a 32nd for its queue.
    assert room_for_rows() == 15 << 20
    assert room_for_rows(disk_cache=str(tmp_path / "cache")) == (15 << 20) * 61 // 64
