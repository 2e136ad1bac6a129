#!/usr/bin/env bash
# The cost of cache sizes that the worker chooses for a short job, and their gain for a longer one: rows/s of jobs of 1, 2, 3, 4 and
# 6 epochs, against the same jobs with the default sizes as flags. Each read has a new daemon. The sides take
# turns.
#   bench/short_jobs.sh SHARDS_FOLDER [ROUNDS] [EPOCHS...]    the standard recipe (3 rounds)
set -euo pipefail
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
shards=$(readlink -f "$1") rounds=${2:-3} budget=${BUDGET_MIB:-6144}
shift $(($# < 2 ? $# : 2))
lengths=("${@:-1}")
[ $# -gt 0 ] || lengths=(1 2 3 4 6)
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
standard_job short "$shards" 64 >"$work/job.textproto"
as_set=(--record-cache "$((budget / 4))MiB" --decoded-cache 0 --row-cache "$((budget / 16))MiB")
caches_as_found=1  # for daemon.sh: keep the caches that no flag sets
cat "$shards"/* >/dev/null  # all sides read from the page cache

# read_with EPOCHS FLAG...: sets rate.
read_with() {
  local epochs=$1; shift
  start_daemon "$shards" --memory-budget "${budget}MiB" "$@"
  "$bin/penstock" submit "$work/job.textproto" --json >/dev/null
  rate=$("$bin/penstock" read short --epochs "$epochs" --no-digest --json | json rows_per_second)
  stop_daemon
}

for ((round = 0; round < rounds; round++)); do
  for epochs in "${lengths[@]}"; do
    read_with "$epochs"; found=$rate
    read_with "$epochs" "${as_set[@]}"
    printf '%d epochs: %.0f rows/s with what is found, %.0f as set\n' "$epochs" "$found" "$rate" >&2
    echo "$found $rate" >>"$work/pairs.$epochs"
  done
done
for epochs in "${lengths[@]}"; do printf '%d epochs, found / as set: ' "$epochs"; ratios <"$work/pairs.$epochs"; done
