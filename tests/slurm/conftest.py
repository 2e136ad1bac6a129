"""The private Slurm, the data set with the digests of undisturbed runs, and a place for jobs."""

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

import remains
from private_slurm import LONG_SECONDS, USERS, Slurm, eventually

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRIPTS = ROOT / "deploy" / "slurm"
EPOCHS = 2
STEPS = EPOCHS * 15
JOB = """
name: "train"
dataset { files: "*" }
features { key: "image/encoded" column: "image" type: BYTES }
features { key: "image/class/label" column: "label" type: INT64 }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 32 width: 32 } }
order { seed: 17 }
batch { size: 20 last: DROP }
"""


@pytest.fixture(scope="session")
def place(request):
    """A folder that all users reach, with copies of what their jobs run. It stays after a failure, for its logs."""
    # pytest's own folders are for its user alone.
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-slurm-"))
    folder.chmod(0o755)
    (folder / "bin").mkdir()
    for program in ("penstock", "penstockd"):
        shutil.copy(Path(os.environ["PENSTOCK_BIN"]) / program, folder / "bin")
    shutil.copytree(ROOT / "client" / "python" / "penstock", folder / "python" / "penstock")
    shutil.copytree(SCRIPTS, folder / "scripts")
    shutil.copy(HERE / "trainer.py", folder)
    yield folder
    if request.session.testsfailed == 0:
        shutil.rmtree(folder)


class Data(NamedTuple):
    root: Path
    job: Path
    digests: dict  # (rank, world size) -> digest of `penstock read` without Slurm


@pytest.fixture(scope="session")
def data(place):
    root, job = place / "data", place / "train.textproto"
    subprocess.run(
        [f"{os.environ['PENSTOCK_BIN']}/make_demo_dataset", root, "300", "10"], check=True, stdout=subprocess.DEVNULL
    )
    job.write_text(JOB)
    home = place / "undisturbed"
    home.mkdir()
    with open(home / "log", "w") as log:
        daemon = subprocess.Popen(
            [place / "bin" / "penstockd", "standalone", "--listen", "127.0.0.1:0", "--port-file", home / "port", "--state-dir",
             home / "state", "--socket-dir", home / "sockets", "--data-root", root],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        eventually("the daemon", (home / "port").exists, context=(home / "log").read_text)
        read = [place / "bin" / "penstock", "read", job, "--coordinator", f"127.0.0.1:{(home / 'port').read_text().strip()}",
                "--epochs", str(EPOCHS), "--json"]  # fmt: skip
        digests = {}
        for rank, world in ((0, 1), (0, 2), (1, 2), (0, 4), (1, 4), (2, 4), (3, 4)):
            out = subprocess.check_output(
                [*read, "--rank", str(rank), "--world-size", str(world), "--group", f"{rank}.{world}"], timeout=LONG_SECONDS
            )
            digests[rank, world] = json.loads(out)["digest"]
        return Data(root, job, digests)
    finally:
        daemon.kill()
        daemon.wait()


@pytest.fixture(scope="session")
def slurm(place):
    folder = place / "slurm"
    folder.mkdir()
    slurm = Slurm(folder)
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()


class Runs:
    """Runs of a user: their folders and what the batch scripts get."""

    def __init__(self, slurm, place, data, folder, user):
        self.slurm, self.place, self.data, self.user = slurm, place, data, user
        self.home = folder / user
        self.runs = self.home / "runs"
        self.node_tmp = Path(tempfile.mkdtemp(prefix="nodes-"))  # short, because a socket's path has at most 107 bytes
        for path in (self.home, self.runs):
            path.mkdir()
            self.give(path)
        self.give(self.node_tmp)
        self.node_tmp.chmod(0o755)
        self.home.chmod(0o755)
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{place}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PENSTOCK_SLURM": str(place / "scripts"),
            "PENSTOCK_RUNS": str(self.runs),
            "PENSTOCK_NODE_TMP": str(self.node_tmp),
            "PENSTOCK_PROGRAM": str(place / "bin" / "penstock"),
            "PYTHONPATH": str(place / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.trainer = ("/usr/bin/python3", place / "trainer.py", "train", EPOCHS)

    def give(self, path):
        entry = pwd.getpwnam(self.user)
        os.chown(path, entry.pw_uid, entry.pw_gid)

    def run(self, name):
        """Returns the folder of a run."""
        path = self.runs / name
        if not path.exists():
            path.mkdir(mode=0o700)
            self.give(path)
        return path

    def allow(self, name, steps):
        """Lets the trainers of a run finish `steps` steps."""
        new = self.run(name) / "allowed.new"
        new.write_text(str(steps))
        new.chmod(0o600)
        self.give(new)
        new.rename(self.run(name) / "allowed")

    def submit(self, script, name, *flags, environment=None, arguments=None):
        if arguments is None:
            arguments = (self.data.job, self.data.root, *self.trainer)
        return self.slurm.submit(
            self.user, self.place / "scripts" / script, *arguments, flags=(f"--job-name={name}", *flags), cwd=self.home,
            environment={**self.environment, **(environment or {})},
        )  # fmt: skip

    def wait_for_steps(self, name, steps, ranks, job):
        """Waits until the trainers have finished `steps` steps, and wrote the rows of the next one without a checkpoint."""
        row_bytes = 16 + 1 + 32 * 32 * 3 + 8
        rows = (steps + 1) * 20 * row_bytes // ranks

        def arrived():
            assert job.state() in {"PENDING", "CONFIGURING", "RUNNING"}, job.output()
            return all(
                (self.run(name) / f"rows.{rank}").exists() and (self.run(name) / f"rows.{rank}").stat().st_size >= rows
                for rank in range(ranks)
            )

        def logs():
            return job.output()[-3000:] + "".join(path.read_text()[-1500:] for path in self.run(name).glob("*.log"))

        eventually(f"step {steps} of {name}", arrived, context=logs)

    def digests(self, name, ranks):
        return {(rank, ranks): (self.run(name) / f"digest.{rank}").read_text() for rank in range(ranks)}

    def check_digests(self, name, ranks):
        """Requires the digests of `penstock read` in an undisturbed cluster."""
        assert self.digests(name, ranks) == {key: value for key, value in self.data.digests.items() if key[1] == ranks}

    def check_nothing_remains(self, name):
        """Waits until no process, socket, port, memory or file of the user's jobs is left, nor the secrets of the run."""
        eventually(
            "the end of all processes", lambda: not remains.all_of(self.user, self.node_tmp), 60,
            context=lambda: remains.all_of(self.user, self.node_tmp),
        )  # fmt: skip
        eventually("the end of the secrets", lambda: not list(self.run(name).glob("job-*")), 60)


@pytest.fixture
def alice(slurm, place, data, request):
    yield from _runs(slurm, place, data, request, USERS[0])


@pytest.fixture
def root(slurm, place, data, request):
    yield from _runs(slurm, place, data, request, "root")


@pytest.fixture
def bob(slurm, place, data, request):
    yield from _runs(slurm, place, data, request, USERS[1])


def _runs(slurm, place, data, request, user):
    folder = place / request.node.name.replace(" ", "-")
    folder.mkdir(exist_ok=True)
    runs = Runs(slurm, place, data, folder, user)
    yield runs
    slurm.end_all(user)
    shutil.rmtree(runs.node_tmp)
