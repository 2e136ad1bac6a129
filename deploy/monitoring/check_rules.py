"""Checks alerts.yml: each rule has a summary, a page with the anchor that it names, a command, and a test. Rules, tests and
dashboard.json use only metrics of docs/metrics.md. Run by check.sh.

check_rules.py             the checks
check_rules.py --queries   prints the queries of dashboard.json as rules, for promtool
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def anchors(page):
    """Returns the anchors of the page's headings."""
    found = set()
    for line in page.read_text().splitlines():
        if heading := re.match(r"#+ (.*)", line):
            words = re.sub(r"[^\w\- ]", "", heading[1].lower())
            found.add(words.strip().replace(" ", "-"))
    return found


def titled_queries():
    """Returns (title of the panel, query) of the dashboard, with values for Grafana's variables."""
    panels = json.loads((HERE / "dashboard.json").read_text())["panels"]
    found = [(panel["title"], target["expr"]) for panel in panels for target in panel.get("targets", [])]
    return [(title, query.replace("$__rate_interval", "1m").replace("$penstock_job", ".*")) for title, query in found]


def queries():
    return [query for _, query in titled_queries()]


def print_queries():
    print("groups:\n  - name: dashboard\n    rules:")
    for number, query in enumerate(queries()):
        print(f"      - {{record: query{number}, expr: {json.dumps(query)}}}")


def faults():
    rules = (HERE / "alerts.yml").read_text()
    dashboard = re.sub(r"_(bucket|sum|count)\b", "", "\n".join(queries()))
    tests = (HERE / "alerts_test.yml").read_text()
    metrics = set(re.findall(r"^\| `(penstock_\w+)`", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
    for source, text in (("alerts.yml", rules), ("alerts_test.yml", tests), ("dashboard.json", dashboard)):
        for name in sorted(set(re.findall(r"\bpenstock_\w+", text)) - metrics):
            yield f"{source}: {name} is not in docs/metrics.md"
    alerts = re.split(r"^      - alert: ", rules, flags=re.MULTILINE)[1:]
    if len(alerts) < 14:
        yield f"alerts.yml: only {len(alerts)} alerts were found"
    for alert in alerts:
        name = alert.split("\n", 1)[0].strip()
        for field in ("summary", "runbook", "command"):
            if not re.search(rf"^          {field}: \S", alert, re.MULTILINE):
                yield f"{name}: no {field}"
        if not re.search(r"severity: (critical|warning|info)}", alert):
            yield f"{name}: no severity"
        if f"alertname: {name}\n" not in tests:
            yield f"{name}: no test in alerts_test.yml"
        runbook = re.search(r"runbook: (\S+)", alert)
        if runbook:
            page, _, anchor = runbook[1].partition("#")
            if not (ROOT / page).is_file():
                yield f"{name}: there is no page {page}"
            elif anchor and anchor not in anchors(ROOT / page):
                yield f"{name}: {page} has no heading #{anchor}"


def main():
    if sys.argv[1:] == ["--queries"]:
        print_queries()
        return 0
    found = list(faults())
    print("\n".join(found) or "the pages, metrics and tests of all alerts exist, and the metrics of the dashboard")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
