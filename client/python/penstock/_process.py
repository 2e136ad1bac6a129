"""A child process whose end is recorded exactly, even if a signal's exception interrupts a call.

The waits of subprocess.Popen take a lock. Such an exception can leave it locked, and later waits then block forever.
Here, the C call that detects the end also records the end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import deque
from contextlib import suppress
from operator import itemgetter
from typing import Deque, Optional, Tuple

_ENDED = itemgetter(0)  # waitpid returns (0, 0) while the process runs
_FIRST_LOOK, _LAST_LOOK = 0.001, 0.02


class Child:
    """Takes over the process that `popen` has started."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self.pid = popen.pid
        popen.returncode = 0  # disables Popen's own waits
        self._ended: Deque[Tuple[int, Optional[int]]] = deque()

    @property
    def running(self) -> bool:
        if not self._ended:
            try:
                self._ended.extend(filter(_ENDED, map(os.waitpid, (self.pid,), (os.WNOHANG,))))
            except ChildProcessError:  # other code has waited for the process, such as another thread
                self._ended.append((self.pid, None))
        return not self._ended

    @property
    def exit_code(self) -> Optional[int]:
        """The exit code in the form of Popen: less than 0 for a signal. None: the process runs, or the code is unknown."""
        for _, status in self._ended:
            if status is not None:
                return os.waitstatus_to_exitcode(status)
        return None

    def wait(self, seconds: float) -> bool:
        """Returns True if the process ends within that time."""
        deadline = time.monotonic() + seconds
        pause = _FIRST_LOOK
        while self.running:
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LAST_LOOK)
        return True

    def end(self, seconds: float) -> None:
        """Waits for that time until the process ends by itself, then kills it."""
        if not self.wait(seconds):
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.wait(seconds)
