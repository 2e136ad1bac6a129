"""penstock.convert of a bucket and of a web server: LMDB, ArrayRecord, Hugging Face, MDS and LitData.

The shards must be those of the local files, which the formats' own libraries write and other tests compare with the libraries.
"""

import contextlib
import json
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from fixtures import BIN
from killing import check_runs_that_are_killed, content, convert_command, tree
from storages import S3, Ranges, serving

import penstock
from penstock import ConfigurationError, DataError, MachineError, _remote_files
from penstock._column_options import ColumnOptions
from penstock._scratch import Scratch
from penstock._sources import open_source

HERE = Path(__file__).parent
FILES = 6  # of ArrayRecord and of the saved data set


def write_array_records(folder, rows, size, files=FILES):
    module = pytest.importorskip("array_record.python.array_record_module")
    folder.mkdir()
    dice = random.Random(1)
    for number in range(files):
        writer = module.ArrayRecordWriter(str(folder / f"{number}.array_record"), "group_size:16")
        for row in range(rows):
            writer.write(pickle.dumps({"n": row, "data": dice.randbytes(size)}))
        writer.close()


def write_lmdb(folder):
    lmdb = pytest.importorskip("lmdb")
    dice = random.Random(2)
    with lmdb.open(str(folder), map_size=1 << 28) as environment, environment.begin(write=True) as transaction:
        for _ in range(5000):
            transaction.put(f"{dice.random()}".encode(), dice.randbytes(2000))
    shutil.copy(folder / "data.mdb", folder.with_suffix(".mdb"))


def write_saved(folder):
    datasets = pytest.importorskip("datasets")
    dice = random.Random(3)
    rows = {"n": list(range(900)), "data": [dice.randbytes(30_000) for _ in range(900)]}
    made = datasets.Dataset.from_dict({**rows, "text": ["é" * (n % 9) for n in range(900)]})
    made.save_to_disk(str(folder / "one"), num_shards=FILES)
    splits = datasets.DatasetDict({"train": made, "test": made.select(range(7))})
    splits.save_to_disk(str(folder / "two"), num_shards={"train": 4, "test": 3})
    datasets.Dataset.from_dict({"n": list(range(150_000))}).save_to_disk(str(folder / "many"), num_shards=2)


@pytest.fixture(scope="module")
def originals(data_sets, tmp_path_factory):
    """Writes a folder with a data set of each format."""
    folder = tmp_path_factory.mktemp("originals")
    write_array_records(folder / "records", 700, 4000)
    write_array_records(folder / "small", 20_000, 40, files=3)
    write_lmdb(folder / "entries")
    write_saved(folder)
    for kind in ("mosaic", "litdata"):
        shutil.copytree(data_sets / kind, folder / kind)
    return folder


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.syspath_prepend(str(HERE / "stand_ins" / "litdata"))
    monkeypatch.setenv("PYTHONPATH", f"{HERE / 'stand_ins' / 'litdata'}:{os.environ['PYTHONPATH']}")
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture
def serve(originals, monkeypatch):
    """Returns a function that starts a storage."""
    with contextlib.ExitStack() as stack:

        def start(kind=S3, folder=originals):
            storage = stack.enter_context(serving(folder, kind))
            for name, value in storage.environment.items():
                monkeypatch.setenv(name, value)
            monkeypatch.setattr(_remote_files, "_running", None)  # the next program has the new environment
            return storage

        yield start


def scratch_files():
    """Returns the files in the folders of TMPDIR. tempfile.gettempdir() of each process writes 4 bytes beside them, as a
    probe."""
    return [path for path in Path(os.environ["TMPDIR"]).glob("*/**/*") if path.is_file()]


class Watch:
    """Observes the largest size of the scratch space."""

    def __init__(self):
        self.most = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.ended.wait(0.002):
            with contextlib.suppress(OSError):  # a file that was removed a moment ago
                self.most = max(self.most, sum(path.stat().st_size for path in scratch_files()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def largest(storage, name):
    place = storage.folder / name
    return max(path.stat().st_size for path in ([place] if place.is_file() else place.rglob("*")) if path.is_file())


# Sources, the option `split`, and whether files are copied.
SOURCES = [
    ("records", "", True),
    ("records/*.array_record", "", True),
    ("records/3.array_record", "", True),
    ("small", "", True),
    ("entries", "", True),
    ("entries.mdb", "", True),
    ("many", "", True),
    ("one", "", True),
    ("two", "train", True),
    ("two/test", "", True),
    ("mosaic/few-None", "", False),
    ("mosaic/few-zstd", "", True),
    ("mosaic/large", "", True),
    ("mosaic/splits", "val", False),
    ("litdata/all", "", False),
    ("litdata/chunk", "", True),
    ("litdata/batch", "", True),
    ("litdata/sample", "", False),
    ("litdata/table zstd", "", True),
    ("litdata/large", "", True),
]


@pytest.mark.parametrize("kind", [S3, Ranges])
@pytest.mark.parametrize(("name", "split", "copied"), SOURCES)
def test_shards_are_those_of_local_files(serve, tmp_path, kind, name, split, copied):
    storage = serve(kind)
    if kind is Ranges and name in ("records", "small", "records/*.array_record"):
        pytest.skip("a web server does not list files")
    folder = name.partition("/*")[0]
    local, url = storage.folder / name, f"{storage.url}/{quote(name) if kind is Ranges else name}"
    near = penstock.convert(local, tmp_path / "near", split=split, shard_bytes="1MiB", processes=1)
    for processes in (1, 3) if kind is S3 else (1,):
        storage.sent.clear()
        out = tmp_path / f"far-{processes}"
        with Watch() as watch:
            far = penstock.convert(url, out, split=split, shard_bytes="1MiB", processes=processes)
        assert content(out) == content(tmp_path / "near")
        assert (far.records, far.columns, far.missing) == (near.records, near.columns, near.missing)
        assert not list(Path(os.environ["TMPDIR"]).iterdir())
        assert watch.most <= processes * largest(storage, folder) + 4096
        assert copied or watch.most == 0
        times = 2 if name in ("many", "one", "two") else 1.1  # headers of batches are read first
        for path in storage.folder.glob(f"{folder}/**/*.*"):
            sent = storage.sent[path.relative_to(storage.folder).as_posix()]
            assert sent <= times * path.stat().st_size + 600_000, path


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("records", 300_000 * (FILES + 1)),
        ("entries", 200_000),
        ("one", 9_500_000),  # a batch of 3,000,000, and 1,000,000 of each file
        ("mosaic/few-None", 100_000),
        ("mosaic/few-zstd", 100_000),
        ("litdata/all", 100_000),
        ("litdata/large", 1_100_000),
    ],
)
def test_a_dry_run_reads_little(serve, name, most):
    storage = serve()
    local = penstock.convert(storage.folder / name, "", dry_run=True)
    far = penstock.convert(f"{storage.url}/{name}", "", dry_run=True)
    assert (far.columns, far.records) == (local.columns, local.records)
    assert sum(storage.sent.values()) < most
    assert not list(Path(os.environ["TMPDIR"]).iterdir())


@pytest.mark.parametrize("name", ["records", "entries", "one", "mosaic/large", "litdata/large"])
def test_runs_that_are_killed_are_continued(serve, tmp_path, name):
    storage = serve()
    check_runs_that_are_killed(f"{storage.url}/{name}", tmp_path, shard_bytes="200KB")
    assert not list(Path(os.environ["TMPDIR"]).iterdir())


# The file of each source that changes, which is not its first one.
CHANGED = [
    ("records", "records/2.array_record"),
    ("entries", "entries/data.mdb"),
    ("one", "one/data-00002-of-00006.arrow"),
    ("mosaic/few-zstd", "mosaic/few-zstd/shard.00002.mds.zstd"),
    ("mosaic/few-None", "mosaic/few-None/shard.00002.mds"),
    ("litdata/large", "litdata/large/chunk-0-2.bin"),
]


@pytest.mark.parametrize(("name", "file"), CHANGED)
def test_a_file_that_changes_is_an_error(serve, originals, tmp_path, name, file):
    shutil.copytree(originals / name, tmp_path / "served" / name)
    storage = serve(folder=tmp_path / "served")
    url, changed = f"{storage.url}/{name}", tmp_path / "served" / file
    words = rf"{Path(file).name}.*has changed since it was opened; convert it into another folder"
    with Scratch() as scratch:  # as a process does that has the source from the first one
        source = pickle.loads(pickle.dumps(open_source(url, ColumnOptions(), "", False, scratch)))
        os.utime(changed, ns=(2, 2))
        with pytest.raises(penstock.PenstockError, match=words):
            [source.frames(piece, 0) for piece in source.pieces]
    command = convert_command(url, "--out", tmp_path / "out", "--shard-bytes", "100KB", "--processes", 2)
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        end = time.monotonic() + 60
        while not list((tmp_path / "out").glob("*.tfrecord")) and time.monotonic() < end and run.poll() is None:
            time.sleep(0.005)
        for pid in tree(run.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    os.utime(changed, ns=(3, 3))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "content" in done.stderr
    assert not scratch_files()


@pytest.mark.parametrize("kind", [S3, Ranges])
@pytest.mark.parametrize(("name", "file"), CHANGED)
def test_a_missing_file_is_named(serve, originals, tmp_path, kind, name, file):
    if name in ("records", "entries"):
        pytest.skip("no index lists the files")
    shutil.copytree(originals / name, tmp_path / "served" / name)
    (tmp_path / "served" / file).unlink()
    storage = serve(kind, tmp_path / "served")
    with pytest.raises(DataError, match=rf"{storage.url}/{file} is missing, but .*(index|state).json lists it; copy"):
        penstock.convert(f"{storage.url}/{name}", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "file"), CHANGED)
def test_an_answer_that_is_cut_off_is_repeated_or_named(serve, tmp_path, name, file):
    storage = serve()
    penstock.convert(storage.folder / name, tmp_path / "near", processes=1)
    left = [2]

    def twice(path):
        if path != file or left[0] == 0:
            return 0
        left[0] -= 1
        return 10

    storage.before = twice
    penstock.convert(f"{storage.url}/{name}", tmp_path / "far", processes=2)
    assert left == [0]
    assert content(tmp_path / "far") == content(tmp_path / "near")


@pytest.mark.parametrize(
    ("name", "file", "words"),
    [
        ("records", "records/2.array_record", "2.array_record has no records, or was cut off"),
        ("one", "one/data-00002-of-00006.arrow", "data-00002-of-00006.arrow is no Arrow stream, or was cut off"),
        ("mosaic/few-None", "mosaic/few-None/shard.00002.mds", "shard.00002.mds: the file has .* bytes, but"),
        ("litdata/chunk", "litdata/chunk/chunk-0-2.zstd.bin", "chunk-0-2.zstd.bin: it cannot be unpacked"),
    ],
)
def test_a_file_that_was_cut_off_is_named(serve, originals, tmp_path, name, file, words):
    shutil.copytree(originals / name, tmp_path / "served" / name)
    place = tmp_path / "served" / file
    place.write_bytes(place.read_bytes()[:-1000])
    storage = serve(folder=tmp_path / "served")
    with pytest.raises(DataError, match=rf"{storage.url}/.*{words}") as far:
        penstock.convert(f"{storage.url}/{name}", tmp_path / "out", processes=1)
    if name != "one":
        with pytest.raises(DataError) as near:
            penstock.convert(storage.folder / name, tmp_path / "out", processes=1)
        assert str(far.value) == str(near.value).replace(str(storage.folder), storage.url)
    assert not list(Path(os.environ["TMPDIR"]).iterdir())


@pytest.mark.parametrize("name", ["entries", "records", "one"])
def test_too_little_scratch_space_is_an_error_with_the_numbers(serve, tmp_path, monkeypatch, name):
    storage = serve()
    found = os.statvfs(tmp_path)
    small = os.statvfs_result((found.f_bsize, 1, *found[2:4], 5000, *found[5:]))
    monkeypatch.setattr(os, "statvfs", lambda _: small)
    words = rf"{storage.url}/{name}/.* has [0-9,]+ bytes, and {tmp_path}/scratch has 5,000 bytes free for its copy: set TMPDIR"
    with pytest.raises(MachineError, match=words):
        penstock.convert(f"{storage.url}/{name}", tmp_path / "out", processes=1)
    assert not list(Path(os.environ["TMPDIR"]).iterdir())
    monkeypatch.undo()


def test_a_disk_that_is_full_is_an_error(serve, tmp_path):
    storage = serve()
    command = convert_command(f"{storage.url}/entries", "--out", tmp_path / "out", "--processes", 1)
    limit = (3_000_000, 3_000_000)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, limit)),
    )
    assert done.returncode == 1
    assert f"{storage.url}/entries/data.mdb cannot be written to {tmp_path}/scratch" in done.stderr
    assert "set TMPDIR to a folder with more room" in done.stderr
    assert not list(Path(os.environ["TMPDIR"]).iterdir())


@pytest.mark.parametrize("name", ["entries", "records", "one", "mosaic/large", "litdata/chunk"])
def test_local_files_need_no_scratch_space(originals, tmp_path, monkeypatch, name):
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: pytest.fail("makes a folder"))
    assert penstock.convert(originals / name, tmp_path / "out", processes=2).records


@contextlib.contextmanager
def held_in_a_copy(storage, command):
    """Starts a conversion, and yields the process while it waits for the first bytes of a copy."""
    ended = threading.Event()

    def copying():
        return any(".copy" in path.name for path in scratch_files())

    def hold(_):
        if copying():
            ended.wait(60)
        return 0

    storage.before = hold
    try:
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
            end = time.monotonic() + 60
            while not copying():
                assert time.monotonic() < end
                time.sleep(0.01)
            yield run
    finally:
        ended.set()
        storage.before = lambda path: 0


@pytest.mark.parametrize("name", ["entries", "records"])
def test_ctrl_c_removes_copies(serve, tmp_path, name):
    storage = serve()
    command = ["env", "--default-signal=INT", *convert_command(f"{storage.url}/{name}", "--out", tmp_path / "out")]
    with held_in_a_copy(storage, command) as run:
        run.send_signal(signal.SIGINT)
        said = run.communicate()[1]
    assert run.returncode == 130, said
    assert not list(Path(os.environ["TMPDIR"]).iterdir())


def test_the_next_run_removes_the_copies_of_a_killed_one(serve, tmp_path):
    storage = serve()
    with held_in_a_copy(storage, convert_command(f"{storage.url}/entries", "--out", tmp_path / "out")) as run:
        run.kill()
    assert scratch_files()
    with Scratch() as other:  # another conversion has it
        other.made()
        assert penstock.convert(f"{storage.url}/entries", tmp_path / "out").records == 5000
        assert len(list(Path(os.environ["TMPDIR"]).iterdir())) == 1
    assert not list(Path(os.environ["TMPDIR"]).iterdir())


@pytest.mark.parametrize("kind", [S3, Ranges])
def test_an_index_may_name_files_in_folders(serve, originals, tmp_path, kind):
    place = tmp_path / "served" / "mds"
    shutil.copytree(originals / "mosaic" / "few-zstd", place / "0 a")
    index = json.loads((place / "0 a" / "index.json").read_text())
    for shard in index["shards"]:
        for form in (shard["raw_data"], shard["zip_data"]):
            form["basename"] = f"0 a/{form['basename']}"
    (place / "index.json").write_text(json.dumps(index))
    storage = serve(kind, tmp_path / "served")
    penstock.convert(f"{storage.url}/mds", tmp_path / "far", processes=2)
    penstock.convert(originals / "mosaic" / "few-None", tmp_path / "near")
    assert content(tmp_path / "far") == content(tmp_path / "near")


@pytest.mark.parametrize("name", ["/etc/{}", "../{}", "s3://other/{}", "a/../../{}"])
def test_an_index_names_no_file_outside_of_its_folder(serve, originals, tmp_path, name):
    """The author of a bucket must not choose files of this machine."""
    folder = tmp_path / "served" / "set"
    shutil.copytree(originals / "one", folder)
    state = json.loads((folder / "state.json").read_text())
    state["_data_files"][1]["filename"] = name.format(state["_data_files"][1]["filename"])
    (folder / "state.json").write_text(json.dumps(state))
    storage = serve(S3, tmp_path / "served")
    with pytest.raises(ConfigurationError, match="which is not in it"):
        penstock.convert(f"{storage.url}/set", tmp_path / "far")
    assert not scratch_files()


def test_a_row_of_a_bucket_names_no_file_of_this_machine(serve, tmp_path):
    """The author writes the bytes of images, and another path into one row."""
    datasets = pytest.importorskip("datasets")
    secret = tmp_path / "secret"
    secret.write_bytes(b"a key")
    rows = [{"bytes": b"pixels", "path": "a.png"}] * 40 + [{"bytes": None, "path": str(secret)}]
    folder = tmp_path / "served" / "set"
    datasets.Dataset.from_dict({"image": rows}).save_to_disk(str(folder))
    info = json.loads((folder / "dataset_info.json").read_text())
    info["features"]["image"] = {"_type": "Image"}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    storage = serve(S3, tmp_path / "served")
    with pytest.raises(DataError, match="a row names the file .*secret.* of the machine that saved it"):
        penstock.convert(f"{storage.url}/set", tmp_path / "far")
    assert b"a key" not in b"".join(path.read_bytes() for path in (tmp_path / "far").rglob("*") if path.is_file())


def test_splits_and_other_folders_are_told_apart(serve, tmp_path):
    storage = serve()
    with pytest.raises(ConfigurationError, match=r"two has the splits train, test; give one as split"):
        penstock.convert(f"{storage.url}/two", tmp_path / "out")
    with pytest.raises(ConfigurationError, match=r"splits has the splits train, val; give one as split"):
        penstock.convert(f"{storage.url}/mosaic/splits/", tmp_path / "out")
    with pytest.raises(ConfigurationError, match=r"none is no file, no folder of files that end in .*, and no data set"):
        penstock.convert(f"{storage.url}/none", tmp_path / "out")
    with pytest.raises(ConfigurationError, match=r"one has no splits; leave out split"):
        penstock.convert(f"{storage.url}/one", tmp_path / "out", split="train")
    (storage.folder / "broken").mkdir()
    (storage.folder / "broken" / "index.json").write_text('{"shards": ')
    with pytest.raises(ConfigurationError, match=r"broken/index\.json cannot be read"):
        penstock.convert(f"{storage.url}/broken", tmp_path / "out")


def test_a_command_prints_the_same_for_a_bucket(serve, tmp_path):
    storage = serve()
    said = []
    for source in (storage.folder / "entries", f"{storage.url}/entries"):
        command = convert_command(source, "--out", tmp_path / "out", "--json", "--dry-run")
        said.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert said[0] == said[1]
    assert sys.modules["penstock._lmdb"]
