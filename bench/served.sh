#!/usr/bin/env bash
# Rows/s served over gRPC on this machine against rows/s of the loader in one process, in turns, with the ratio.
#   bench/served.sh SHARDS_FOLDER [PAIRS] [SECONDS]
# SHARDS_FOLDER has TFRecord shards with image/encoded and image/class/label. Both sides have as many threads as there are CPUs.
# The client of the served side uses some of these CPUs.
set -euo pipefail
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
shards=$(readlink -f "$1") pairs=${2:-5} seconds=${3:-8}
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
job=$work/job.textproto
standard_job served "$shards" 128 >"$job"
cat "$shards"/* >/dev/null  # both sides read from the page cache
start_daemon "$shards" --record-cache 0 --socket-dir ''
"$bin/penstock" submit "$job" --json >/dev/null
rate=$("$bin/penstock" bench "$job" --no-stages --seconds 3 --json | json rows_per_second)
steps=$(awk -v rate="$rate" -v s="$seconds" 'BEGIN { n = int(rate * s / 128); print n < 4 ? 4 : n }')
for ((i = 0; i < pairs; i++)); do
  local_rate=$("$bin/penstock" bench "$job" --no-stages --seconds "$seconds" --json | json rows_per_second)
  served_rate=$("$bin/penstock" read served --steps "$steps" --no-digest --json | json rows_per_second)
  awk -v a="$served_rate" -v b="$local_rate" 'BEGIN { printf "served %7.1f rows/s, in-process %7.1f rows/s, ratio %.3f\n", a, b, a / b }' >&2
  echo "$served_rate $local_rate"
done | ratios
