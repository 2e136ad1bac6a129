"""What a peer of image.sh shares with the others: it makes an epoch of rows for each line on its standard input and
answers with one JSON object, {"rows", "rows_per_second", "cpu_ms_per_row"}. The first batch is in no rate; the first
epoch is a warm-up and is not reported."""

import json
import os
import sys
import time

IMAGE_SIDE = 224
BATCH = 256


def _cpu_seconds():
    """CPU time of this process and of its children that are alive, as proc(5) has it."""
    pids = [os.getpid()]
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/children") as children:
            pids += map(int, children.read().split())
    ticks = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except FileNotFoundError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def serve(name, epoch):
    """`epoch()` gives the sizes of an epoch's batches, each once its rows are there."""

    def run():
        begin, cpu_begin, first, rows, all_rows = time.monotonic(), _cpu_seconds(), None, 0, 0
        for size in epoch():
            if first is None:
                first = time.monotonic()
            else:
                rows += size
            all_rows += size
        seconds = time.monotonic() - first
        return {
            "rows": all_rows,
            "rows_per_second": rows / seconds,
            "cpu_ms_per_row": (_cpu_seconds() - cpu_begin) / all_rows * 1e3,
        }

    run()
    print(json.dumps({"ready": name}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(run()), flush=True)
