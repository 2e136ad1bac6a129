"""Programs that take turns: peers that wait for a line (see turns.py), and commands that run once per turn and end."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path


class Peer:
    """A program that uses turns.py. The constructor returns after its warm-up. Its messages are in the folder PEER_LOGS.
    `environment` extends the environment of this process."""

    def __init__(self, name, command, environment=None):
        self.name = name
        self.log = Path(os.environ["PEER_LOGS"], name.replace(" ", "_") + ".log")
        with self.log.open("w") as errors:
            self.process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **(environment or {})},
            )
        self.answer()  # ends the warm-up

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        sys.exit(f"{self.name} ended:\n{self.log.read_text(errors='replace')[-3000:]}")

    def turn(self):
        """Returns rows/s and CPU milliseconds per row."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self.answer()
        return answer["rows_per_second"], answer["cpu_ms_per_row"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Command:
    """A command whose last line is JSON with rows and rows_per_second. Its CPU time includes that of the processes `pids`
    during the run."""

    def __init__(self, name, command, pids=()):
        self.name = name
        self.command = shlex.split(command)
        self.pids = pids

    def turn(self):
        """Returns rows/s and CPU milliseconds per row."""
        before = _cpu_seconds(self.pids)
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(self.command)} failed")
        answer = json.loads(output.splitlines()[-1])
        # The rows exclude the first batch, and rows that were made ahead at the end.
        seconds = usage.ru_utime + usage.ru_stime + _cpu_seconds(self.pids) - before
        return answer["rows_per_second"], seconds / answer["rows"] * 1e3

    def end(self):
        pass


def _cpu_seconds(pids):
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def take_turns(sides, turns, minutes=None):
    """Runs the turns and ends all sides. Returns two dicts by name: rows/s and CPU milliseconds per row of each turn. Begins
    no turn, except the first, that would end after `minutes` if it took as long as the longest previous one."""
    begin, longest = time.monotonic(), 0.0
    rates = {side.name: [] for side in sides}
    cpus = {side.name: [] for side in sides}
    for turn in range(turns):
        turn_begin = time.monotonic()
        if minutes is not None and turn > 0 and turn_begin + longest > begin + minutes * 60:
            break
        for k in range(len(sides)):  # each side is first in some turns
            side = sides[(turn + k) % len(sides)]
            rate, cpu = side.turn()
            rates[side.name].append(rate)
            cpus[side.name].append(cpu)
        line = ", ".join(f"{name} {rate[-1]:.0f}" for name, rate in rates.items())
        print(f"turn {turn + 1}, rows/s: {line}", file=sys.stderr, flush=True)
        longest = max(longest, time.monotonic() - turn_begin)
    for side in sides:
        side.end()
    return rates, cpus
