"""A trainer whose checkpoints hold the digest's input: trainer.py JOB EPOCHS

Appends what `penstock read` puts into its digest to a file of its rank, and a line with the loader's state to another file.
A restarted run continues at the last step that all ranks have. The file $PENSTOCK_RUN/allowed has the number of steps that the
trainers may finish; a step waits between its rows and its checkpoint.
"""

import hashlib
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

import penstock

# Of torchrun, otherwise of srun.
RANK = int(os.environ.get("RANK", os.environ["SLURM_PROCID"]))
WORLD = int(os.environ.get("WORLD_SIZE", os.environ["SLURM_STEP_NUM_TASKS"]))
RUN = Path(os.environ["PENSTOCK_RUN"])
# One decision about the step at which all ranks begin, for each start of this step.
START = RUN / f"start-{os.environ['SLURM_JOB_ID']}.{os.environ['SLURM_STEP_ID']}.{os.environ.get('SLURM_RESTART_COUNT', '0')}"


def rows_of(rank):
    return RUN / f"rows.{rank}"


def states_of(rank):
    """Returns the checkpoints of a rank: one for each finished step. A line that was not written to its end does not count."""
    path = RUN / f"states.{rank}"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def write(path, text):
    new = path.with_name(f"{path.name}.{RANK}.new")
    new.write_text(text)
    new.rename(path)


def first_step():
    """Returns the number of steps that all ranks have finished. Rank 0 decides, before another rank continues."""
    if RANK == 0:
        write(START, str(min(len(states_of(rank)) for rank in range(WORLD))))
    while not START.exists():
        time.sleep(0.02)
    return int(START.read_text())


def wait_for_permission(step):
    allowed = RUN / "allowed"
    while allowed.exists() and int(allowed.read_text() or 0) <= step:
        time.sleep(0.02)


def digest_input(batch, columns):
    """Returns the bytes that `penstock read` adds to its digest for the batch, whose columns have fixed shapes."""
    parts = [batch.ids.reshape(batch.rows, -1).view(np.uint8), batch.valid.astype(np.uint8).reshape(batch.rows, 1)]
    parts += [np.ascontiguousarray(batch[name]).reshape(batch.rows, -1).view(np.uint8) for name in columns]
    return np.concatenate(parts, axis=1).tobytes()


def main(job, epochs):
    loader = penstock.Loader(job, coordinator=os.environ["PENSTOCK_COORDINATOR"], timeout=300)
    step = first_step()
    states = states_of(RANK)[:step]
    if states:
        loader.load_state_dict(states[-1]["state"])
    write(RUN / f"states.{RANK}", "".join(json.dumps(state) + "\n" for state in states))
    print(f"rank {RANK} of {WORLD} continues after {step} steps", flush=True)
    with open(rows_of(RANK), "ab") as rows, open(RUN / f"states.{RANK}", "a") as checkpoints:
        rows.truncate(states[-1]["bytes"] if states else 0)
        for _ in range(loader.epoch, epochs):
            for batch in loader:
                rows.write(digest_input(batch, list(loader.schema)))
                rows.flush()
                wait_for_permission(step)
                step += 1
                checkpoints.write(json.dumps({"state": loader.state_dict(), "bytes": rows.tell()}) + "\n")
                checkpoints.flush()
    write(RUN / f"digest.{RANK}", hashlib.sha256(rows_of(RANK).read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
