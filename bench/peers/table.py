"""Runs the sides of one work of `run` in turns, prints its table and writes its numbers. Standard library only.

  table.py --work NAME --title TEXT --out FILE.json [--daemon PID --served COMMAND [--served-cpp COMMAND]] [--local COMMAND]
           [--local-cpp COMMAND] [--peer NAME=COMMAND ...] [--wanted NAME=SERVED,LOCAL ...] [--rounds N] [--minutes M]

Loops answer as turns.py describes. The two C++ programs print one line of JSON and end. --wanted: the wanted minimum of
the ratios of served Penstock, and of Penstock without a daemon, to that peer.
"""

import argparse
import json
import os
import statistics

from sides import Command, Peer, take_turns

LOCAL, LOCAL_CPP = "Penstock", "Penstock, C++"
SERVED, SERVED_CPP = "Penstock served", "Penstock served, C++"


def parse():
    parser = argparse.ArgumentParser()
    for name in ("--work", "--title", "--out"):
        parser.add_argument(name, required=True)
    for name in ("--served", "--served-cpp", "--local", "--local-cpp"):
        parser.add_argument(name)
    parser.add_argument("--daemon", type=int)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--wanted", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=60)
    return parser.parse_args()


def sides_of(args):
    if args.served:
        yield Peer(SERVED, args.served, {"PEER_PIDS": str(args.daemon)})
    if args.served_cpp:
        yield Command(SERVED_CPP, args.served_cpp, [args.daemon])
    if args.local:
        yield Peer(LOCAL, args.local)
    if args.local_cpp:
        yield Command(LOCAL_CPP, args.local_cpp)
    for item in args.peer:
        yield Peer(*item.split("=", 1))


def ratio(ours, other):
    """Returns the ratio of the best rounds, the ratio of the medians, and the median of the rounds' ratios."""
    return [
        max(ours) / max(other),
        statistics.median(ours) / statistics.median(other),
        statistics.median(a / b for a, b in zip(ours, other)),
    ]


def main():
    args = parse()
    rates, cpus = take_turns(list(sides_of(args)), args.rounds, args.minutes)
    wanted = {}
    for item in args.wanted:
        name, least = item.split("=")
        wanted[name] = [float(number) if number else None for number in least.split(",")]
    rows = []
    for name, rate in rates.items():
        row = {"name": name, "best": max(rate), "median": statistics.median(rate), "rounds": rate}
        row["cpu_ms"] = statistics.median(cpus[name])
        for key, ours, k in (("served", SERVED, 0), ("local", LOCAL, 1)):
            if ours in rates and name not in (ours, LOCAL_CPP if ours == SERVED else SERVED_CPP):
                row[key] = {"ratio": ratio(rates[ours], rate), "wanted": wanted.get(name, [None, None])[k]}
        rows.append(row)
    result = {"work": args.work, "title": args.title, "batch": int(os.environ["PEER_BATCH"]), "cpus": os.cpu_count()}
    result["rows"] = rows
    with open(args.out, "w") as file:
        json.dump(result, file, indent=1)
    show(args.title, rows)


def cell(ratios):
    if ratios is None:
        return ""
    best, medians, _ = ratios["ratio"]
    least = ratios["wanted"]
    return f"{best:.2f}, {medians:.2f}" + ("" if least is None else f" ({least:g} wanted)")


def show(title, rows):
    columns = [("served", "Penstock served to it"), ("local", "Penstock to it")]
    columns = [(key, head) for key, head in columns if any(key in row for row in rows)]
    print(f"\n## {title}\n\n{len(rows[0]['rounds'])} rounds. Ratios: of the best rounds, of the medians.\n")
    print("| | rows/s, best | median | CPU ms a row | " + "".join(f"{head} | " for _, head in columns).rstrip())
    print("|" + "---|" * (4 + len(columns)))
    for row in rows:
        cpu = f"{row['cpu_ms']:.{2 if row['cpu_ms'] >= 0.1 else 4}f}"
        cells = [row["name"], f"{row['best']:.0f}", f"{row['median']:.0f}", cpu]
        print("| " + " | ".join(cells + [cell(row.get(key)) for key, _ in columns]) + " |", flush=True)


if __name__ == "__main__":
    main()
