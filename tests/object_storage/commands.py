"""Jobs on the test photographs, readers of them, and commands that are stopped: what tests of several files type."""

import json
import subprocess
import threading
import time

import numpy

from conftest import SECRETS

JOB = """name: "photos"
dataset { files: "FILES" }
features { key: "image/encoded" column: "image" type: BYTES }
features { key: "image/class/label" column: "label" type: INT64 }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 64 width: 64 } }
order { seed: 17 }
batch { size: 16 last: PAD }
"""
EPOCHS = 2


def write_job(place, files, name):
    (place.folder / name).write_text(JOB.replace("FILES", files))
    return name


def digest_of(text):
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))["digest"]


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def rows_made(daemon):
    workers = json.loads(daemon.type("penstock status --json"))["workers"]
    return sum(int(worker.get("load", {}).get("rows", 0)) for worker in workers)


class SlowReader:
    """Reads the job in the background, slowly; begun when this returns."""

    def __init__(self, daemon, job):
        read = f"penstock read {job} --epochs {EPOCHS} --pace 200 --prefetch-steps 2 --json"
        self.out = []
        self.thread = threading.Thread(target=lambda: self.out.append(daemon.type(read)))
        self.thread.start()
        wait_until(lambda: rows_made(daemon) > 0)

    def digest(self):
        self.thread.join(120)
        return digest_of(self.out[0])


def arrays(place, rows, name="rows.npy"):
    """An array of this many rows of 12,288 bytes."""
    path = place.folder / name
    if not path.exists():
        numpy.save(path, numpy.random.default_rng(5).integers(0, 256, (rows, 64, 64, 3), dtype=numpy.uint8))
    return path


def stopped(place, command, signals, until):
    """What a command says that is sent these signals, one after the other, when `until` holds; and its end."""
    # Tests that are run in the background ignore SIGINT, and so would all that they start.
    process = subprocess.Popen(
        ["env", "--default-signal=INT", "bash", "-ec", f"exec {command}"],
        env=place.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=place.folder,
    )
    end = time.monotonic() + 60
    while not until():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < end
        time.sleep(0.01)
    for count, number in enumerate(signals):
        if count > 0:
            time.sleep(0.3)  # two that come together are one
        process.send_signal(number)
    said = process.communicate(timeout=60)[0]
    assert not any(secret in said for secret in SECRETS)
    return said, process.returncode
