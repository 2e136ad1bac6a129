"""Kills processes of `penstock convert`, and compares the shards of the runs."""

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path


def content(folder):
    """Returns the digests of the shards in a folder."""
    files = sorted(path for path in Path(folder).iterdir() if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.suffix == ".tfrecord"}


def tree(pid):
    """Returns the ids of a process and of its descendants."""
    found = [pid]
    for parent in found:
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                found += map(int, Path(f"/proc/{parent}/task/{task}/children").read_text().split())
        except OSError:
            pass
    return found


def convert_command(*arguments):
    return [sys.executable, "-m", "penstock._convert_command", *map(str, arguments)]


def check_runs_that_are_killed(source, folder, *options, kills=4, shard_bytes="1MiB"):
    """Kills a process of a conversion at random moments, and continues the conversion after each.

    PENSTOCK_KILLS is another number of kills.
    """
    kills = int(os.environ.get("PENSTOCK_KILLS", kills))
    arguments = ["--processes", 2, "--shard-bytes", shard_bytes, *options]
    begin = time.monotonic()
    subprocess.run(convert_command(source, "--out", folder / "whole", *arguments), check=True, capture_output=True)
    usual = time.monotonic() - begin
    dice, killed, completed = random.Random(int(usual * 1e6)), [], 0
    out = folder / "out"
    while len(killed) < kills:
        command = convert_command(source, "--out", out, *arguments)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            time.sleep(dice.uniform(0, usual))
            victims = tree(run.pid)
            number = dice.randrange(len(victims))
            with contextlib.suppress(ProcessLookupError):
                os.kill(victims[number], signal.SIGKILL)
            error = run.communicate()[1]
        if run.returncode == 0:
            completed += 1
            assert content(out) == content(folder / "whole")
            out = folder / f"out{completed}"
            usual *= 0.8  # kill earlier: other work may have delayed the first run
            continue
        killed.append(number)
        assert number == 0 or "was ended by SIGKILL" in error, error
    command = convert_command(source, "--out", out, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert content(out) == content(folder / "whole")
    jobs = [(place / "job.textproto").read_text().replace(place.name, "") for place in (out, folder / "whole")]
    assert jobs[0] == jobs[1]
