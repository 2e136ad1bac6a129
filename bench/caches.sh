#!/usr/bin/env bash
# The gain of cache sizes that the worker chooses: rows/s of a trainer on the same host, epoch by epoch. The sides are the
# default sizes as flags, the worker's choice, and the best sizes by hand. They take turns. Prints ratios of the epochs
# after the fourth.
#   bench/caches.sh SHARDS_FOLDER [ROUNDS]               the standard recipe; the best sizes cache all decoded images
#   bench/caches.sh --evaluation SHARDS_FOLDER [ROUNDS]  resize and center crop; the best sizes cache all finished rows
# The memory budget, BUDGET_MIB (6144), must be at least twice the size of the decoded images.
set -euo pipefail
what=recipe
[ "${1:-}" != --evaluation ] || { what=evaluation; shift; }
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
shards=$(readlink -f "$1") rounds=${2:-3}
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
budget=${BUDGET_MIB:-6144}
job=$work/job.textproto
standard_job caches "$shards" 64 >"$job"
if [ $what = evaluation ]; then
  sed -i '/random_horizontal_flip/d; s/random_resized_crop { height: 224 width: 224 }/resize { shorter_side: 256 } }\nops { center_crop { height: 224 width: 224 }/' "$job"
  hand=(--record-cache 0 --decoded-cache 0 --row-cache "$((budget / 2))MiB")
else
  hand=(--record-cache "$((budget / 8))MiB" --decoded-cache "$((budget / 2))MiB" --row-cache 0)
fi
before=(--record-cache "$((budget / 4))MiB" --decoded-cache 0 --row-cache "$((budget / 16))MiB")
found=()
caches_as_found=1  # for daemon.sh: keep the caches that no flag sets
cat "$shards"/* >/dev/null  # all sides read from the page cache

# read_with NAME FLAG...: prints the rate of each of four epochs, and sets rate_NAME to that of the following ones.
read_with() {
  local name=$1 epoch rate; shift
  start_daemon "$shards" --memory-budget "${budget}MiB" "$@"
  "$bin/penstock" submit "$job" --json >/dev/null
  printf '%-8s' "$name" >&2
  for epoch in 0 1 2 3; do
    rate=$("$bin/penstock" read caches --epoch $epoch --epochs 1 --no-digest --json | json rows_per_second)
    printf ' %8.0f' "$rate" >&2
  done
  rate=$("$bin/penstock" read caches --epoch 4 --epochs ${EPOCHS_THEN:-16} --no-digest --json | json rows_per_second)
  printf '   then %8.0f rows/s\n' "$rate" >&2
  [ "$name" != found ] || grep -o 'tuning: caches: .*' "$work/penstockd.log" >&2 || echo '  nothing was changed' >&2
  stop_daemon
  eval "rate_$name=$rate"
}

: >"$work/hand_pairs" && : >"$work/before_pairs"
for ((i = 0; i < rounds; i++)); do
  for name in before found hand; do
    declare -n flags=$name
    read_with $name ${flags[@]+"${flags[@]}"}
  done
  echo "$rate_found $rate_hand" >>"$work/hand_pairs"
  echo "$rate_found $rate_before" >>"$work/before_pairs"
done
printf 'found / by hand: ' && ratios <"$work/hand_pairs"
printf 'found / defaults as they are set: ' && ratios <"$work/before_pairs"
