"""A loop over penstock.Loader (see turns.py) with default settings, except for caches.

  penstock_loop.py JOB.textproto [COLUMN]  no daemon: the loader's child process makes the rows, and caches none
  penstock_loop.py JOB [COLUMN]            PENSTOCK_COORDINATOR serves the job

COLUMN is one of turns.ROWS (image).
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "client", "python"))

import penstock
import turns


def main():
    job, column = [*sys.argv[1:], "image"][:2]
    if os.path.exists(job):
        loader = penstock.Loader(job, record_cache=0, decoded_cache=0, row_cache=0)
    else:
        loader = penstock.Loader(job, coordinator=os.environ["PENSTOCK_COORDINATOR"])

    def epoch():
        for batch in loader:
            yield batch[column]

    turns.serve("penstock.Loader", epoch, column)


if __name__ == "__main__":
    main()
