#!/usr/bin/env bash
# The cost of metrics: rows/s of a trainer while /metrics is scraped every 5 s, against the same without, in turns.
#   bench/scrape.sh [PAIRS] [SECONDS]       7 pairs of 15 s: finished rows from the cache, the highest rate of rows
#   bench/scrape.sh --every S [PAIRS] ...   scrapes every S seconds
set -euo pipefail
every=5
if [ "${1:-}" = --every ]; then every=$2; shift 2; fi
pairs=${1:-7} seconds=${2:-15}
[[ $pairs =~ ^[1-9][0-9]*$ && $seconds =~ ^[1-9][0-9]*$ ]] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
batch=128 job=$work/job.textproto
"$bin/make_small_records" "$work/rows" 4000 4 150528 >/dev/null
cat >"$job" <<END
name: "scrape"
dataset { files: "$work/rows/*" }
features { key: "raw" column: "image" type: BYTES decode_raw: UINT8 shape: [224, 224, 3] }
features { key: "label" column: "label" type: INT64 }
order { seed: 17 }
batch { size: $batch last: DROP }
END
http=127.0.0.1:$(free_port)
start_daemon "$work/rows" --record-cache 0 --row-cache 1GiB --http "$http"
"$bin/penstock" submit "$job" --json >/dev/null

# Prints the rows/s of N steps.
read_steps() { "$bin/penstock" read scrape --steps "$1" --no-digest --json | json rows_per_second; }
rate=$(read_steps 60)
steps=$(awk -v rate="$rate" -v s="$seconds" -v b=$batch 'BEGIN { printf "%d", rate * s / b + 1 }')

scrape_forever() {
  while curl -fsS --max-time 10 "http://$http/metrics" >/dev/null; do sleep "$every"; done
}
with_scrapes() {
  local scraper rate
  scrape_forever &
  scraper=$!
  rate=$(read_steps "$steps")
  kill "$scraper" 2>/dev/null || true
  wait "$scraper" 2>/dev/null || true
  echo "$rate"
}

printf '%d series; scraped every %s s\n' "$(curl -fsS "http://$http/metrics" | grep -vc '^#')" "$every"
for ((pair = 1; pair <= pairs; ++pair)); do
  if ((pair % 2)); then
    without=$(read_steps "$steps") with=$(with_scrapes)
  else
    with=$(with_scrapes) without=$(read_steps "$steps")
  fi
  echo "$without $with"
  awk -v p="$pair" -v a="$without" -v b="$with" 'BEGIN {
    printf "pair %d: %.0f rows/s without, %.0f with: %.4f\n", p, a, b, b / a }' >&2
done >"$work/pairs"
awk '{ print $2 / $1 }' "$work/pairs" | sort -n | awk -v pairs="$pairs" '{ r[NR] = $1 }
  END { printf "median of the ratios %.4f\n", (r[int((NR + 1) / 2)] + r[int((NR + 2) / 2)]) / 2 }'
awk '{ if ($1 > a) a = $1; if ($2 > b) b = $2 }
  END { printf "best: %.0f rows/s without, %.0f with: %.4f\n", a, b, b / a }' "$work/pairs"
