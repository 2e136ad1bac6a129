"""Runs the loops of python_loop.sh in turns, prints the table and writes the numbers. Standard library only.

  python_loop_table.py --local COMMAND --local-cpp COMMAND --served COMMAND --served-cpp COMMAND --daemon PID
                       --out FILE.json [--peer NAME=COMMAND ...] [--turns N] [--minutes M]

Loops answer as turns.py says; the two C++ programs print one line of JSON and end.
"""

import argparse
import json
import os
import statistics

from sides import Command, Peer, take_turns

LOCAL, LOCAL_CPP = "Penstock", "Penstock, C++"
SERVED, SERVED_CPP = "Penstock served", "Penstock served, C++"


def main():
    parser = argparse.ArgumentParser()
    for name in ("--local", "--local-cpp", "--served", "--served-cpp", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--daemon", type=int, required=True)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=60)
    args = parser.parse_args()
    sides = [
        Peer(LOCAL, args.local),
        Command(LOCAL_CPP, args.local_cpp),
        Peer(SERVED, args.served, {"PEER_PIDS": str(args.daemon)}),
        Command(SERVED_CPP, args.served_cpp, [args.daemon]),
        *(Peer(*item.split("=", 1)) for item in args.peer),
    ]
    rates, cpus = take_turns(sides, args.turns, args.minutes)

    def ratio(a, b):
        """The best of a to the best of b, and the median of the turns' ratios."""
        return [max(rates[a]) / max(rates[b]), statistics.median(x / y for x, y in zip(rates[a], rates[b]))]

    rows = []
    for name, rate in rates.items():
        rows.append(
            {
                "name": name,
                "best": max(rate),
                "median": statistics.median(rate),
                "cpu_ms": statistics.median(cpus[name]),
                "local": ratio(LOCAL, name),
                "served": ratio(SERVED, name),
                "turns": rate,
            }
        )
    with open(args.out, "w") as file:
        json.dump({"batch": int(os.environ["PEER_BATCH"]), "cpus": os.cpu_count(), "rows": rows}, file, indent=1)

    print(f"\n{len(rates[LOCAL])} turns. Ratios: of the best turns, and the median of the turns' ratios.\n")
    print("| | rows/s, best | median | CPU ms a row | Penstock to it | Penstock served to it |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        ratios = [f"{best:.2f}, {median:.2f}" for best, median in (row["local"], row["served"])]
        if row["name"] in (LOCAL, SERVED_CPP):
            ratios[0] = ""
        if row["name"] in (SERVED, LOCAL_CPP):
            ratios[1] = ""
        print(f"| {row['name']} | {row['best']:.0f} | {row['median']:.0f} | {row['cpu_ms']:.2f} | {ratios[0]} | {ratios[1]} |")


if __name__ == "__main__":
    main()
