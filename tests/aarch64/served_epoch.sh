#!/usr/bin/env bash
# A coordinator of this machine's architecture, a worker of each architecture, and a trainer of aarch64: the digests of an epoch
# are equal, whichever worker serves it. The coordinator accepts the workers for one job only if they compute equal pixels.
#   served_epoch.sh PROGRAMS PROGRAMS_AARCH64
set -euo pipefail
here=$(readlink -e -- "$1") there=$(readlink -e -- "$2")
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$work"' EXIT
die() { echo "served_epoch.sh: $*" >&2; tail -n 20 "$work"/*.log >&2; exit 1; }
wait_for() { # wait_for WHAT COMMAND...
  local what=$1
  shift
  for _ in $(seq 600); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done
  die "$what: nothing after 2 minutes"
}
start_worker() { # start_worker NAME PROGRAMS: sets `worker`
  "$2/penstockd" worker --coordinator "$PENSTOCK_COORDINATOR" --listen 127.0.0.1:0 --name "$1" --data-root "$work/shards" \
    --state-dir "$work/$1" --socket-dir '' >"$work/$1.log" 2>&1 &
  worker=$!
  pids+=("$worker")
}
digest() { "$1/penstock" read demo --epochs 1 --json | sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p'; }

"$here/make_demo_dataset" "$work/shards" 300 4 >/dev/null
"$here/penstock" init "$work/shards/*" --data-root "$work/shards" --name demo >"$work/job.textproto"
"$here/penstockd" coordinator --listen 127.0.0.1:0 --port-file "$work/port" --state-dir "$work/c" >"$work/coordinator.log" 2>&1 &
pids+=($!)
wait_for coordinator test -s "$work/port"
PENSTOCK_COORDINATOR=127.0.0.1:$(cat "$work/port")
export PENSTOCK_COORDINATOR

start_worker ours "$here"
ours=$worker
"$here/penstock" submit "$work/job.textproto" >/dev/null || die "submit failed"
expected=$(digest "$here")
start_worker aarch64 "$there"
wait_for "the aarch64 worker" grep -q "registered" "$work/aarch64.log"
both=$(digest "$there")
"$here/penstock" doctor || die "doctor reports a fault"
kill -KILL "$ours"
alone=$(digest "$here")
echo "digest of the epoch: $(uname -m) $expected; both workers, a trainer of aarch64 $both; aarch64 alone $alone"
[ -n "$expected" ] && [ "$both" = "$expected" ] && [ "$alone" = "$expected" ] || die "the digests differ"
