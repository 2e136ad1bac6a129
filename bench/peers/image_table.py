"""Runs the peers of image.sh and our loader in turns and prints the table. Standard library only.

  image_table.py --ours COMMAND --peer NAME=COMMAND ... --wanted NAME=RATIO ... [--turns N]

COMMAND is split as a shell would. A peer answers as turns.py says; ours is `penstock bench ... --json`, which prints
rows and rows_per_second and ends; its CPU time is the process's.
"""

import argparse
import statistics

from sides import Command, Peer, take_turns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--wanted", action="append", default=[])
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    wanted = {name: float(ratio) for name, ratio in (item.split("=") for item in args.wanted)}
    sides = [Command("Penstock", args.ours)] + [Peer(*item.split("=", 1)) for item in args.peer]
    rates, cpus = take_turns(sides, args.turns)

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
