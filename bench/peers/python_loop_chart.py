"""python_loop.json as bars: python_loop_chart.py IN.json OUT.png. A bar ends at the median, the mark at the best turn."""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OURS, CPP, OTHERS = "#1f6f8b", "#9cc5d3", "#b9b4a7"


def main():
    with open(sys.argv[1]) as file:
        result = json.load(file)
    rows = sorted(result["rows"], key=lambda row: row["median"])
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.36 * len(rows)), dpi=110)
    for y, row in enumerate(rows):
        color = OTHERS
        if row["name"].startswith("Penstock"):
            color = CPP if "C++" in row["name"] else OURS
        axes.barh(y, row["median"], color=color, height=0.66)
        axes.plot([row["best"]] * 2, [y - 0.33, y + 0.33], color="#333333", linewidth=1.4)
        axes.text(row["median"] - 0.006 * rows[-1]["best"], y, f"{row['median']:.0f}", va="center", ha="right", fontsize=9,
                  color="white" if color == OURS else "#222222")
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows], fontsize=10)
    for label, row in zip(axes.get_yticklabels(), rows):
        label.set_fontweight("bold" if row["name"].startswith("Penstock") and "C++" not in row["name"] else "normal")
    axes.set_xlim(0, max(row["best"] for row in rows) * 1.02)
    axes.margins(y=0.01)
    axes.set_xlabel(f"rows/s in a Python loop, batches of {result['batch']}, {result['cpus']} CPUs (median; mark: best turn)", fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=9)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(sys.argv[2], pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
