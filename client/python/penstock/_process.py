"""A child process whose end is known exactly, whatever a signal's exception interrupts.

subprocess.Popen's own waits take a lock, which such an exception can leave taken: then they wait for ever. Here the call that
learns of the end records it as well, in C code.
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

_ENDED = itemgetter(0)  # waitpid's answer while the process runs is (0, 0)
_FIRST_LOOK, _LAST_LOOK = 0.001, 0.02


class Child:
    """Takes over the process that `popen` has started."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self.pid = popen.pid
        popen.returncode = 0  # nobody waits for it there
        self._ended: Deque[Tuple[int, Optional[int]]] = deque()

    @property
    def running(self) -> bool:
        if not self._ended:
            try:
                self._ended.extend(filter(_ENDED, map(os.waitpid, (self.pid,), (os.WNOHANG,))))
            except ChildProcessError:  # somebody else has waited for it, such as another thread just now
                self._ended.append((self.pid, None))
        return not self._ended

    @property
    def exit_code(self) -> Optional[int]:
        """As Popen has it: less than 0 for a signal. None: it runs, or nobody knows."""
        for _, status in self._ended:
            if status is not None:
                return os.waitstatus_to_exitcode(status)
        return None

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within that time."""
        deadline = time.monotonic() + seconds
        pause = _FIRST_LOOK
        while self.running:
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LAST_LOOK)
        return True

    def end(self, seconds: float) -> None:
        """Gives it that time to end by itself, then kills it."""
        if not self.wait(seconds):
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.wait(seconds)
