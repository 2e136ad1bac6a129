"""Jobs that change their batch size: the sizes, the lengths of loaders, and resumes, as a user sees them."""

import itertools
import json
import random

import pytest

import penstock
from fixtures import BIN
from penstock._batch_sizes import size_at, steps_of, steps_of_epochs
from penstock._protocol import Opened
from tar_test import daemon, run

RECORDS = 100
CHANGES = [{"at_rows": 30, "size": 20}, {"at_rows": 100, "size": 12}, {"at_rows": 150, "size": 28}]
SIZES = {
    "DROP": [[8, 8, 8, 8, 20, 20, 20], [12, 12, 12, 12, 12, 28], [28, 28, 28]],
    "PARTIAL": [[8, 8, 8, 8, 20, 20, 20, 8], [12, 12, 12, 12, 12, 28, 12], [28, 28, 28, 16]],
    "PAD": [[8, 8, 8, 8, 20, 20, 20, 20], [12, 12, 12, 12, 12, 28, 28], [28, 28, 28, 28]],
}


@pytest.fixture
def lines(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.jsonl").write_text("".join(json.dumps({"id": i}) + "\n" for i in range(RECORDS)))
    return folder


def job_of(last="DROP", changes=CHANGES, **more):
    return penstock.Job(
        name="lines", dataset={"files": "*.jsonl"}, features={"id": "INT64"}, order={"seed": 5},
        batch={"size": 8, "last": last, "change": changes}, **more)


def ids_of(loader):
    return [batch["id"].tolist() for batch in loader]


@pytest.mark.parametrize("last", SIZES)
def test_each_epoch_has_its_sizes_and_its_length(lines, last):
    with penstock.Loader(job_of(last), data_root=lines) as loader:
        assert loader.batch_size == 8
        whole = []
        for sizes in SIZES[last]:
            assert len(loader) == len(sizes)
            whole.append(ids_of(loader))
            assert [len(ids) for ids in whole[-1]] == sizes
        assert len(loader) == len(SIZES[last][2]), "later epochs are like the third one"
    constant = job_of("PARTIAL", [])
    with penstock.Loader(constant, data_root=lines) as loader:
        for epoch in whole:  # the rows are those of the job without changes, in the same order
            rows = list(itertools.chain.from_iterable(ids_of(loader)))
            read = list(itertools.chain.from_iterable(epoch))
            assert read[: len(rows)] == rows[: len(read)]
    with penstock.Loader(job_of(last), data_root=lines, epochs=3) as loader:
        assert len(loader) == sum(map(len, SIZES[last]))
        assert ids_of(loader) == list(itertools.chain.from_iterable(whole))


def test_ranks_and_served_jobs_have_the_same_batches(lines):
    job = job_of()
    with penstock.Loader(job, data_root=lines, epochs=3) as loader:
        whole = ids_of(loader)
    ranks = []
    for rank in range(4):
        with penstock.Loader(job, data_root=lines, epochs=3, rank=rank, world_size=4) as loader:
            ranks.append(ids_of(loader))
    assert [list(itertools.chain.from_iterable(parts)) for parts in zip(*ranks)] == whole
    with daemon(lines) as address:
        penstock.submit(job, coordinator=address)
        with penstock.Loader("lines", coordinator=address, epochs=3) as loader:
            assert len(loader) == len(whole)
            assert ids_of(loader) == whole
        with penstock.Loader("lines", coordinator=address, batch_size=50) as loader:
            assert len(loader) == 2
            assert [len(ids) for ids in ids_of(loader)] == [50, 50]
        out = run("describe", "lines", "--coordinator", address).stdout
        assert "rows over all ranks: 8, 20 from row 30 of the run, 12 from row 100, 28 from row 150\n" in out


def test_a_resume_after_each_batch_reads_the_rest(lines):
    with penstock.Loader(job_of("PAD"), data_root=lines, epochs=3) as loader:
        whole, states = [], []
        for batch in loader:
            whole.append(batch["id"].tolist())
            states.append(loader.state_dict())
    for done, state in enumerate(states[:-1]):
        with penstock.Loader(job_of("PAD"), data_root=lines, epochs=3) as loader:
            loader.load_state_dict(state)
            assert ids_of(itertools.islice(loader, len(whole) - done - 1)) == whole[done + 1 :]


def test_the_state_holds_rows_so_sizes_may_change_after_it(lines):
    """A run that was tuned by hand continues with other sizes at the same row."""
    with penstock.Loader(job_of(changes=[]), data_root=lines) as loader:
        rows = list(itertools.chain.from_iterable(ids_of(loader)))
    with penstock.Loader(job_of(changes=[]), data_root=lines) as loader:
        for _ in itertools.islice(loader, 5):
            pass
        state = loader.state_dict()
    with penstock.Loader(job_of(changes=[{"at_rows": 41, "size": 10}]), data_root=lines) as loader:
        loader.load_state_dict(state)
        rest = ids_of(loader)
    assert [len(ids) for ids in rest] == [8, 10, 10, 10, 10, 10]
    assert list(itertools.chain.from_iterable(rest))[: len(rows) - 40] == rows[40:][:58]


def test_the_length_is_that_of_the_loop_and_moves_nothing(lines):
    for changes in (CHANGES, []):
        with penstock.Loader(job_of(changes=changes), data_root=lines) as loader:
            for number, _ in enumerate(loader):
                length = len(loader)
                if number == 2:
                    break
            assert length == (7 if changes else 12)
            state = loader.state_dict()
            assert len(loader) == (6 if changes else 12), "between two loops, that of the next one"
            assert bool(loader)
            assert loader.state_dict() == state
    with penstock.Loader(job_of(), data_root=lines, epochs=3) as loader:
        assert {len(loader) for _ in loader} == {7 + 6 + 3}
        assert len(loader) == 9, "the next three epochs"
    with penstock.Loader(job_of(), data_root=lines, epochs=2) as loader:
        mapped = loader.map(lambda batch: batch["id"].tolist(), threads=3)
        assert {len(mapped) for _ in mapped} == {7 + 6}
        assert {len(mapped) for _ in mapped} == {3 + 3}


def by_rule(opened, epoch):
    """Returns the number of steps of an epoch, step by step."""
    position = steps = 0
    while position < opened.rows_per_epoch:
        size = size_at(opened, epoch, position)
        if opened.last == "DROP" and position + size > opened.rows_per_epoch:
            break
        steps, position = steps + 1, position + size
    return steps


def test_lengths_follow_the_rule():
    dice = random.Random(3)
    for _ in range(500):
        rows = dice.randint(1, 60)
        at = sorted(dice.sample(range(1, 4 * rows + 8), dice.randint(0, 5)))
        changes = tuple((a, dice.randint(1, rows)) for a in at)
        opened = Opened("j", (), dice.randint(1, rows), 1, dice.choice(["DROP", "PAD", "PARTIAL"]), rows, 0, "", 0, 0, 0, True,
                        (), changes)
        for epoch in range(6):
            assert steps_of(opened, epoch) == by_rule(opened, epoch)
            count = dice.randint(1, 9)
            assert steps_of_epochs(opened, epoch, count) == sum(by_rule(opened, epoch + i) for i in range(count))
        assert steps_of_epochs(opened, 9, 10**12) == 10**12 * by_rule(opened, 9)


@pytest.mark.parametrize(
    ("changes", "more", "words"),
    [
        ([{"at_rows": 0, "size": 4}], {}, "batch.change[0].at_rows: 0; it must be greater than 0, and at most 2^62"),
        ([{"at_rows": 9, "size": 4}, {"at_rows": 9, "size": 8}], {},
         "batch.change[1].at_rows: 9; it must be greater than 9, that of the change before, and at most 2^62"),
        ([{"at_rows": 9}], {}, "batch.change[0].size: 0; it must be from 1 to 1048576"),
        ([{"at_rows": 9, "size": 101}], {},
         "an epoch has 100 rows, fewer than one global batch of 101, and batch.last is DROP: the epoch would have no steps"),
        ([{"at_rows": i + 1, "size": 4} for i in range(65)], {}, "batch.change: at most 64"),
        ([{"at_rows": 9, "size": 4}], {"select": [{"bucket": {"by": "id"}}]},
         "batch.change: select.bucket makes groups of batch.size rows, so the size cannot change; leave one of the two out"),
    ],
)
def test_mistakes_are_named(lines, changes, more, words):
    job = penstock.Job(
        name="lines", dataset={"files": "*.jsonl", **more}, features={"id": "INT64"}, batch={"size": 8, "change": changes})
    with pytest.raises(penstock.PenstockError) as found, penstock.Loader(job, data_root=lines) as loader:
        len(loader)
    assert words in str(found.value)


def test_a_world_that_does_not_divide_a_later_size_is_refused(lines):
    with pytest.raises(penstock.PenstockError, match=r"a global batch of 12 rows cannot be divided among 8 ranks.*change"):
        ids_of(penstock.Loader(job_of(changes=[{"at_rows": 9, "size": 12}]), data_root=lines, rank=0, world_size=8))


def test_reports_name_the_sizes(lines, tmp_path):
    (tmp_path / "job.textproto").write_text(job_of().to_text())
    with daemon(lines) as address:
        out = run("submit", tmp_path / "job.textproto", "--coordinator", address).stdout
    assert ("an epoch has 100 rows, the first one 7 steps: batches of 8, 20 from row 30 of the run, 12 from row 100, "
            "28 from row 150; 8 rows (8.0 %) are dropped at its end") in out
    done = run("bench", tmp_path / "job.textproto", "--data-root", lines, "--seconds", 1)
    assert done.returncode == 0, done.stderr
