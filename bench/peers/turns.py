"""The common part of the peers. For each line on its standard input a peer makes epochs of batches and answers with one JSON
object, {"rows", "rows_per_second", "cpu_ms_per_row"}. No rate includes an epoch's first batch. The first epoch is a warm-up
without a report. Environment variables:

  PEER_BATCH   rows of a batch (256)
  PEER_TOUCH   1: the loop reads every byte of each batch once with `touch`
  PEER_SECONDS the peer repeats epochs for this time, because an epoch may take only milliseconds (2)
  PEER_PIDS    processes whose CPU time counts too, in addition to this one and its children (a daemon)
"""

import json
import os
import resource
import sys
import time

import numpy as np

IMAGE_SIDE = 224
# Type and number of the values of a row, by the column that has them.
ROWS = {
    "image": (np.uint8, IMAGE_SIDE**2 * 3),
    "tokens": (np.uint16, 4097),
    "packed": (np.uint16, 2048),
    "numbers": (np.float32, 40),
}
BATCH = int(os.environ.get("PEER_BATCH", "256"))
_SECONDS = float(os.environ.get("PEER_SECONDS", "2"))
_TOUCH = os.environ.get("PEER_TOUCH") == "1"
_PIDS = [int(pid) for pid in os.environ.get("PEER_PIDS", "").split()]


def _read(path):
    """Returns a file of proc(5), or "" if the thread or process has ended meanwhile."""
    try:
        with open(path) as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _cpu_seconds():
    """Returns the CPU time of this process, of its live and reaped children, and of PEER_PIDS, according to proc(5)."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    pids = [os.getpid(), *_PIDS]
    for task in os.listdir("/proc/self/task"):
        pids += map(int, _read(f"/proc/self/task/{task}/children").split())
    ticks = 0
    for pid in pids:
        fields = _read(f"/proc/{pid}/stat").rsplit(")", 1)[-1].split() or [0] * 13
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK") + ended.ru_utime + ended.ru_stime


def touch(batch):
    """Reads every byte once, as words of eight bytes: one pass at the speed of memory for the batches of any framework."""
    return int(batch.reshape(-1).view(np.uint64).sum())


def parts_of(batches, records):
    """Returns an `epoch` for `serve` that takes `records` rows of endless batches."""

    def epoch():
        for _ in range(records // BATCH):
            yield next(batches)

    return epoch


def serve(name, epoch, column="image"):
    """Answers each line of standard input with a measurement. `epoch()` yields an epoch's batches of `column` as they arrive:
    NumPy arrays that are views of the loader's memory. Images are (BATCH, 224, 224, 3) or (BATCH, 3, 224, 224)."""
    dtype, values = ROWS[column]

    def one():
        """Returns the number of rows after the first batch, their seconds, and the number of all rows."""
        first, rows, all_rows = None, 0, 0
        for batch in epoch():
            if batch.dtype != dtype or batch.shape[0] != BATCH or batch.size != BATCH * values:
                sys.exit(f"{name}: a batch of {batch.dtype} {batch.shape}")
            if not batch.flags.c_contiguous:
                sys.exit(f"{name}: the batch is not in one piece, so that touching it would copy it")
            if _TOUCH:
                touch(batch)
            if first is None:
                first = time.monotonic()
            else:
                rows += len(batch)
            all_rows += len(batch)
        if rows == 0:
            sys.exit(f"{name}: an epoch of {all_rows} rows; at least two batches are needed")
        return rows, time.monotonic() - first, all_rows

    def run(seconds=_SECONDS):
        cpu_begin, begin = _cpu_seconds(), time.monotonic()
        rows, took, all_rows = one()
        while time.monotonic() < begin + seconds:
            more = one()
            rows, took, all_rows = rows + more[0], took + more[1], all_rows + more[2]
        return {
            "rows": all_rows,
            "rows_per_second": rows / took,
            "cpu_ms_per_row": (_cpu_seconds() - cpu_begin) / all_rows * 1e3,
        }

    run(0)
    print(json.dumps({"ready": name}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(run()), flush=True)
