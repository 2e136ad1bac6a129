"""A loop over penstock.Loader (see turns.py), all settings left as they are.

  penstock_loop.py JOB.textproto      no daemon: rows are made by the loader's own child process
  penstock_loop.py JOB                served by PENSTOCK_COORDINATOR, where the job was submitted
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "client", "python"))

import penstock
import turns


def main():
    job = sys.argv[1]
    loader = penstock.Loader(job, coordinator=None if os.path.exists(job) else os.environ["PENSTOCK_COORDINATOR"])

    def epoch():
        for batch in loader:
            yield batch["image"]

    turns.serve("penstock.Loader", epoch)


if __name__ == "__main__":
    main()
