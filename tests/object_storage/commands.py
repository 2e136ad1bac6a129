"""Jobs on the test photographs, their readers, and commands that are stopped: commands that several files use."""

import json
import struct
import subprocess
import threading
import time
import zlib

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


def read_digest(place, job):
    with place.daemon(f"data={place.folder}", "--data-root", f"bucket={place.at('')}") as daemon:
        return digest_of(daemon.type(f"penstock read {job} --epochs 1 --json"))


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def rows_made(daemon):
    workers = json.loads(daemon.type("penstock status --json"))["workers"]
    return sum(int(worker.get("load", {}).get("rows", 0)) for worker in workers)


class SlowReader:
    """Slowly reads the job in the background. The constructor returns after the first rows."""

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
    """Returns the path of an array with `rows` rows of 12,288 bytes."""
    path = place.folder / name
    if not path.exists():
        numpy.save(path, numpy.random.default_rng(5).integers(0, 256, (rows, 64, 64, 3), dtype=numpy.uint8))
    return path


def frames(rows, of=b"x"):
    """Yields records in the input format of `penstock pack`, with the end frame."""
    for row in rows:
        body = struct.pack("<H", len(of)) + of + struct.pack("<BBBQ", 4, 1, 1, row.size) + row.tobytes()
        yield struct.pack("<II", len(body), 2) + body
    yield struct.pack("<II", 0, 3)


def png(seed):
    """Returns a small image as PNG."""
    pixels = numpy.random.default_rng(seed).integers(0, 256, (24, 32, 3), dtype=numpy.uint8)
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", 32, 24, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def class_folders(place, name):
    """Makes class folders of images on the disk, and the same in the bucket."""
    folder = place.folder / name
    for number in range(48):
        path = folder / f"{number % 3} kind" / ("deep/" if number % 5 == 0 else "") / f"{number:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(number))
    (folder / "1 kind" / ".hidden").write_bytes(b"no")
    (folder / "stray.txt").write_bytes(b"no image")
    for path in folder.rglob("*"):
        if path.is_file():
            place.server.put(f"{name}/{path.relative_to(folder)}", path)
    return folder


def begin(place, command):
    """Starts a command in the background."""
    # Tests in a shell's background ignore SIGINT, and so would all processes that they start.
    return subprocess.Popen(
        ["env", "--default-signal=INT", "bash", "-ec", f"exec {command}"],
        env=place.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=place.folder,
    )


def wait_with(process, condition, seconds=60):
    """Waits until the condition holds, which must happen while the process runs."""
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < end
        time.sleep(0.01)


def end_of(process):
    """Returns the process's output and exit code."""
    said = process.communicate(timeout=300)[0]
    assert not any(secret in said for secret in SECRETS)
    return said, process.returncode
