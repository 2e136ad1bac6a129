"""Reads a job with the wheel of the Python that runs it, and prints the digest of the rows and the longest wait as JSON.

wheel_reader.py COORDINATOR JOB EPOCHS PACE_SECONDS [PROGRESS_FILE]: PROGRESS_FILE receives the number of steps read so far.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import penstock

coordinator, job, epochs, pace = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
progress = sys.argv[5] if len(sys.argv) > 5 else None
digest = hashlib.sha256()
longest = 0.0
rows = steps = 0
with penstock.Loader(job, coordinator=coordinator, epochs=epochs) as loader:
    batches = iter(loader)
    while True:
        begun = time.monotonic()
        batch = next(batches, None)
        if batch is None:
            break
        if steps > 0:  # the first step waits for the session
            longest = max(longest, time.monotonic() - begun)
        for column in sorted(batch):
            digest.update(batch[column].tobytes())
        rows += len(batch["label"])
        steps += 1
        if progress:
            part = Path(f"{progress}.part")
            part.write_text(str(steps))
            part.replace(progress)
        time.sleep(pace)
print(json.dumps({"rows": rows, "digest": digest.hexdigest(), "longest_wait_seconds": longest}))
