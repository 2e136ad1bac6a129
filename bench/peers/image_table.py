"""Runs the peers of image.sh and our loader in turns and prints the table. Standard library only.

  image_table.py --ours COMMAND --peer NAME=COMMAND ... --wanted NAME=RATIO ... [--turns N]

COMMAND is split as a shell would. A peer answers as turns.py says; ours is `penstock bench ... --json`, which prints
rows and rows_per_second and ends; its CPU time is the process's.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys


class Peer:
    def __init__(self, name, command):
        self.name = name
        self.errors = open(os.path.join(os.environ["PEER_LOGS"], name.replace(" ", "_") + ".log"), "w+")
        self.process = subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.answer()  # warm

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        self.errors.seek(0)
        sys.exit(f"{self.name} ended:\n{self.errors.read()[-3000:]}")

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self.answer()
        return answer["rows_per_second"], answer["cpu_ms_per_row"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    name = "Penstock"

    def __init__(self, command):
        self.command = shlex.split(command)

    def turn(self):
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{self.command[0]} failed")
        answer = json.loads(output)
        # Its first batch is not in the rows; nor are those that were made ahead when it ended.
        return answer["rows_per_second"], (usage.ru_utime + usage.ru_stime) / answer["rows"] * 1e3

    def end(self):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--wanted", action="append", default=[])
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    wanted = {name: float(ratio) for name, ratio in (item.split("=") for item in args.wanted)}
    sides = [Ours(args.ours)] + [Peer(*item.split("=", 1)) for item in args.peer]
    rates = {side.name: [] for side in sides}
    cpus = {side.name: [] for side in sides}
    for turn in range(args.turns):
        for k in range(len(sides)):  # none is always the first
            side = sides[(turn + k) % len(sides)]
            rate, cpu = side.turn()
            rates[side.name].append(rate)
            cpus[side.name].append(cpu)
        line = ", ".join(f"{name} {rate[-1]:.0f}" for name, rate in rates.items())
        print(f"turn {turn + 1}, rows/s: {line}", file=sys.stderr)
    for side in sides:
        side.end()

    ours, our_cpu = rates["Penstock"], cpus["Penstock"]
    print(f"\n{'':18} {'rows/s':>8} {'':>8} {'CPU ms':>7}   Penstock's rows/s are")
    print(f"{'':18} {'best':>8} {'median':>8} {'a row':>7}   {'best':>6} {'median':>7} {'CPU':>6}   wanted")
    for name, rate in rates.items():
        ratio = statistics.median(a / b for a, b in zip(ours, rate))
        cpu = statistics.median(cpus[name])
        print(
            f"{name:18} {max(rate):8.0f} {statistics.median(rate):8.0f} {cpu:7.2f}   {max(ours) / max(rate):5.2f}x"
            f" {ratio:6.2f}x {cpu / statistics.median(our_cpu):5.2f}x   {wanted.get(name, '')}"
        )


if __name__ == "__main__":
    main()
