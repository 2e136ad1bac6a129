#!/usr/bin/env bash
# The cost of one slow worker of three for a job: rows/s with one worker at a fifth of the others' speed, against three equal workers,
# and against two, in turns.
#   [BATCH=64] bench/slow_worker.sh SHARDS_FOLDER [TURNS] [SECONDS]      (3 turns of 30 s)
# SHARDS_FOLDER has TFRecord shards with image/encoded and image/class/label. A turn measures the rate from the third second on.
# Two workers and a fifth of a third could reach 1.1 times the rate of two: the script prints the ratio to this possible rate.
# Rows are the same in all turns: the script compares their digests.
#
# A stopped worker leaves its CPU to the others. So every worker has one thread and runs for 60 of every 100 ms: two CPUs are then
# enough for three workers. The slow worker runs for 12 ms. The ratio has no meaning if other programs use the CPUs.
set -euo pipefail
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
shards=$(readlink -f "$1") turns=${2:-3} seconds=${3:-30} settle=2
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
job=$work/job.textproto coordinator='' workers=() stutters=()
standard_job slow "$shards" "${BATCH:-64}" >"$job"
cat "$shards"/* >/dev/null  # all sides read from the page cache

end_workers() {
  [ ${#stutters[@]} -eq 0 ] || kill "${stutters[@]}" 2>/dev/null || true
  [ ${#workers[@]} -eq 0 ] || { kill -CONT "${workers[@]}"; kill -KILL "${workers[@]}"; } 2>/dev/null || true
  [ -z "$coordinator" ] || kill -KILL "$coordinator" 2>/dev/null || true
  wait "${workers[@]}" "${stutters[@]}" $coordinator 2>/dev/null || true
  coordinator='' workers=() stutters=()
}
trap 'end_workers; rm -rf "$work"' EXIT

# until_there FILE: waits until a port file exists.
until_there() {
  local waited=0
  until [ -s "$1" ]; do
    [ $((waited += 1)) -lt 400 ] || { cat "$work"/*.log >&2; die "a penstockd did not come up (above)"; }
    sleep 0.05
  done
}

# stutter PID RUNS STOPS: alternately continues the process for RUNS ms and stops it for STOPS ms, until it has ended.
stutter() {
  while kill -CONT "$1" 2>/dev/null && sleep "0.0$2" && kill -STOP "$1" 2>/dev/null; do sleep "0.0$3"; done
}

# turn NAME RUNS...: starts a worker for each of RUNS, the milliseconds of every 100 that it runs. Prints "rows/s digest".
turn() {
  local name=$1 i=0 runs
  shift
  rm -rf "$work"/state* "$work"/port*
  "$bin/penstockd" coordinator --listen 127.0.0.1:0 --port-file "$work/port" --state-dir "$work/state" >"$work/c.log" 2>&1 &
  coordinator=$!
  until_there "$work/port"
  PENSTOCK_COORDINATOR=127.0.0.1:$(cat "$work/port")
  export PENSTOCK_COORDINATOR
  for runs in "$@"; do
    "$bin/penstockd" worker --listen 127.0.0.1:0 --port-file "$work/port$i" --coordinator "$PENSTOCK_COORDINATOR" \
      --data-root "data=$shards" --state-dir "$work/state$i" --threads 1 --memory-budget 256MiB --record-cache 0 --decoded-cache 0 \
      >"$work/w$i.log" 2>&1 &
    workers+=($!)
    until_there "$work/port$i"
    i=$((i + 1))
  done
  "$bin/penstock" submit "$job" --json >/dev/null
  i=0
  for runs in "$@"; do
    stutter "${workers[i]}" "$runs" $((100 - runs)) &
    stutters+=($!)
    i=$((i + 1))
  done
  timeout "$settle" "$bin/penstock" read slow --steps 1000000 --no-digest >/dev/null 2>&1 || true
  "$bin/penstock" read slow --epoch 1 --steps "$steps" --json >"$work/read.json"
  printf '%s %s\n' "$(json rows_per_second <"$work/read.json")" "$(sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$work/read.json")"
  end_workers
}

steps=60
read -r rate _ < <(turn probe 60 60)
steps=$(awk -v r="$rate" -v s="$seconds" 'BEGIN { n = int(r * s / 64); print n < 20 ? 20 : n }')
for ((t = 0; t < turns; t++)); do
  read -r three digest3 < <(turn three 60 60 60)
  read -r slow digest_slow < <(turn slow 60 60 12)
  read -r two digest2 < <(turn two 60 60)
  [ "$digest3" = "$digest2" ] && [ "$digest3" = "$digest_slow" ] || die "digests differ: $digest3 $digest_slow $digest2"
  awk -v three="$three" -v slow="$slow" -v two="$two" 'BEGIN {
    possible = two * 1.1
    printf "three %.1f rows/s, one of them slow %.1f, two %.1f: %.3f of what is possible, %.3f of two, %.3f of three\n", three, slow, two, slow / possible, slow / two, slow / three }' >&2
  awk -v slow="$slow" -v two="$two" 'BEGIN { print slow, two * 1.1 }'
done | ratios
