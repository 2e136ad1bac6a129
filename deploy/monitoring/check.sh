#!/usr/bin/env bash
# Checks the alert rules, tests them on virtual time, checks that their pages and metrics exist, checks the queries of the
# dashboard, and checks the metrics of a running daemon. Needs promtool (Debian: prometheus) and Python 3.
#   check.sh                 the rules
#   check.sh URL|FILE...     also the metrics there: http://127.0.0.1:7072/metrics
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
command -v promtool >/dev/null || {
  echo "check.sh: promtool is missing: apt-get install prometheus, or set PATH" >&2
  exit 1
}
promtool check rules alerts.yml
promtool test rules alerts_test.yml
promtool check config --syntax-only prometheus.yml
python3 -B check_rules.py
queries=$(mktemp --suffix=.yml)
trap 'rm -f "$queries"' EXIT
python3 -B check_rules.py --queries >"$queries"
said=$(promtool check rules "$queries" 2>&1) || { echo "dashboard.json: $said" >&2; exit 1; }
echo "dashboard.json: $(grep -c record: "$queries") queries"
for metrics in "$@"; do
  case $metrics in
    http://* | https://*) text=$(curl -fsS --max-time 10 "$metrics") ;;
    *) text=$(cat "$metrics") ;;
  esac
  said=$(promtool check metrics <<<"$text" 2>&1) || { echo "$metrics: $said" >&2; exit 1; }
  [ -z "$said" ] || { echo "$metrics: $said" >&2; exit 1; }
  echo "$metrics: $(grep -vc '^#' <<<"$text") series"
done
