#!/usr/bin/env bash
# The rate of a worker that tunes its own settings, against the best settings by hand, in rows/s of a trainer in another process on
# the same host, after 10 s (SETTLE) of reading; 4 s by hand. Prints a line for each scenario: the rate without flags, the best rate
# of a small grid of --threads and --read-threads with its flags, and the ratio (wanted: 0.95).
#   bench/tuning.sh SHARDS_FOLDER [SECONDS] [TURNS] [SCENARIO...]     (6 s, 1 turn, all)
#   near     local files, a trainer that takes every row at once
#   far      as near, with 20 ms more per read (slow_reads.c)
#   slow     a trainer that computes elsewhere for 0.5 s per batch; the files have slow reads
#   beside   a trainer that needs a CPU of this host for 55 ms per batch
#   two      two jobs with a trainer each
# bench/slow_worker.sh covers one slow worker of three.
set -euo pipefail
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2; }
shards=$(readlink -e -- "$1") seconds=${2:-6} turns=${3:-1} settle=${SETTLE:-10}
shift $(($# < 3 ? $# : 3))
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
cc -shared -fPIC -O2 -o "$work/slow_reads.so" "$root/bench/slow_reads.c" -ldl
standard_job one "$shards" 64 >"$work/one.textproto"
standard_job two "$shards" 64 | sed 's/seed: 17/seed: 18/' >"$work/two.textproto"  # with the same seed they would share rows
cat "$shards"/* >/dev/null  # all sides read from the page cache

# turn DELAY_MS JOBS TRAINER_FLAGS WORKER_FLAGS: prints the sum of the trainers' rows/s.
turn() {
  local delay=$1 jobs=$2 trainer=$3 flags=$4 job readers=()
  if [ "$delay" -gt 0 ]; then export SLOW_READS_BELOW=$shards SLOW_READS_MS=$delay LD_PRELOAD=$work/slow_reads.so; fi
  # shellcheck disable=SC2086
  start_daemon "$shards" --record-cache 0 $flags
  unset LD_PRELOAD
  for job in $jobs; do "$bin/penstock" submit "$work/$job.textproto" --json >/dev/null; done
  for job in $jobs; do
    # shellcheck disable=SC2086
    timeout "$settle" "$bin/penstock" read "$job" --steps 1000000 --no-digest $trainer >/dev/null 2>&1 &
    readers+=($!)
  done
  wait "${readers[@]}" || true
  readers=()
  for job in $jobs; do
    # shellcheck disable=SC2086
    "$bin/penstock" read "$job" --epoch 1 --steps "$steps" --no-digest --json $trainer >"$work/$job.json" &
    readers+=($!)
  done
  wait "${readers[@]}"
  for job in $jobs; do json rows_per_second <"$work/$job.json"; done | awk '{ sum += $1 } END { print sum }'
  grep -o 'tuning: .*' "$work/penstockd.log" >&2 || true
  stop_daemon
}

# scenario NAME DELAY_MS JOBS TRAINER_FLAGS GRID...
scenario() {
  local name=$1 delay=$2 jobs=$3 trainer=$4 rate flags best best_flags t
  shift 4
  steps=20
  rate=$(settle=2 turn "$delay" "$jobs" "$trainer" '' 2>/dev/null)
  steps=$(awk -v r="$rate" -v s="$seconds" 'BEGIN { n = int(r * s / 64); print n < 8 ? 8 : n }')
  for ((t = 0; t < turns; t++)); do
    rate=$(turn "$delay" "$jobs" "$trainer" '')
    best=0 best_flags=''
    for flags in "$@"; do
      local set_by_hand
      set_by_hand=$(settle=4 turn "$delay" "$jobs" "$trainer" "$flags")
      echo "  $name, $flags: $set_by_hand rows/s" >&2
      if awk -v a="$set_by_hand" -v b="$best" 'BEGIN { exit !(a > b) }'; then best=$set_by_hand best_flags=$flags; fi
    done
    awk -v n="$name" -v r="$rate" -v b="$best" -v f="$best_flags" \
      'BEGIN { printf "%-8s %7.1f rows/s by itself, %7.1f with %s: %.3f\n", n, r, b, f, r / b }'
  done
}

near() { scenario near 0 one '' '--threads 2 --read-threads 0' '--threads 1 --read-threads 0'; }
far() { scenario far 20 one '' '--threads 2 --read-threads 32' '--threads 2 --read-threads 64'; }
slow() { scenario slow 20 one '--pace 500' '--threads 2 --read-threads 0' '--threads 2 --read-threads 64'; }
beside() { scenario beside 0 one '--compute 55' '--threads 2 --read-threads 0' '--threads 1 --read-threads 0'; }
two() { scenario two 0 'one two' '' '--threads 2 --read-threads 0' '--threads 1 --read-threads 0'; }
for name in "${@:-near far slow beside two}"; do for one in $name; do "$one"; done; done
