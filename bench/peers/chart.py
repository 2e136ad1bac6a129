"""Charts of table.py's results: chart.py --out NAME RESULT.json ... writes NAME.json and NAME.png.

Each workload has a panel. A bar ends at the median, and a mark shows the best round.
"""

import argparse
import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OURS, CPP, OTHERS = "#1f6f8b", "#9cc5d3", "#b9b4a7"
BAR_INCHES, PANEL_INCHES = 0.3, 0.75


def is_ours(row):
    return row["name"].startswith("Penstock")


def is_cpp(row):
    return is_ours(row) and "C++" in row["name"]


def panel(axes, work):
    rows = sorted(work["rows"], key=lambda row: row["median"])
    right = max(row["best"] for row in rows)
    for y, row in enumerate(rows):
        color = (CPP if is_cpp(row) else OURS) if is_ours(row) else OTHERS
        axes.barh(y, row["median"], color=color, height=0.68)
        axes.plot([row["best"]] * 2, [y - 0.34, y + 0.34], color="#333333", linewidth=1.3)
        inside = row["median"] > 0.12 * right
        axes.text(
            row["median"] - 0.006 * right if inside else row["best"] + 0.008 * right,
            y,
            f"{row['median']:,.0f}",
            va="center",
            ha="right" if inside else "left",
            fontsize=8.5,
            color="white" if color == OURS and inside else "#222222",
        )
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows], fontsize=9)
    for label, row in zip(axes.get_yticklabels(), rows):
        label.set_fontweight("bold" if is_ours(row) and not is_cpp(row) else "normal")
    axes.set_title(work["title"], fontsize=10, loc="left")
    axes.set_xlim(0, right * 1.02)
    axes.margins(y=0.01)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("results", nargs="+")
    args = parser.parse_args()
    works = []
    for path in args.results:
        with open(path) as file:
            works.append(json.load(file))
    with open(args.out + ".json", "w") as file:
        json.dump(works, file, indent=1)
    bars = [len(work["rows"]) for work in works]
    height = BAR_INCHES * sum(bars) + PANEL_INCHES * len(works) + 0.3
    figure, panels = plt.subplots(
        len(works), figsize=(8, height), dpi=110, squeeze=False, gridspec_kw={"height_ratios": [n + 0.4 for n in bars]}
    )
    for axes, work in zip(panels[:, 0], works):
        panel(axes, work)
    batch, cpus = " or ".join(map(str, sorted({work["batch"] for work in works}))), works[0]["cpus"]
    label = f"rows/s in a Python loop, or in C++ where named, batches of {batch}, {cpus} CPUs (median; mark: best round)"
    figure.supxlabel(label, fontsize=9)
    figure.tight_layout()
    figure.savefig(args.out + ".png", pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
