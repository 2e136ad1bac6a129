#!/usr/bin/env bash
# The cost of several readers of one job: the daemon's CPU time for four simultaneous readers of an epoch, against one, in turns. The
# readers share finished rows. Measures shared memory first, then gRPC. A first run checks that the digests of all readers are
# equal.
#   bench/readers.sh SHARDS_FOLDER [ROUNDS] [READERS]    the standard recipe; TFRecord shards of photographs (3 rounds, 4 readers)
set -euo pipefail
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
shards=$(readlink -f "$1") rounds=${2:-3} readers=${3:-4}
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
standard_job readers "$shards" 64 >"$work/job.textproto"
cat "$shards"/* >/dev/null  # all sides read from the page cache
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
mkdir -p -m 0700 "$work/sockets"

# read_by READERS SOCKET_DIR [FLAG]: sets cpu to the daemon's seconds for an epoch with this number of readers.
read_by() {
  local i before pids=()
  rm -f "$work"/read.*.json
  start_daemon "$shards" --record-cache 0 --row-cache 512MiB --socket-dir "$2"
  "$bin/penstock" submit "$work/job.textproto" --json >/dev/null
  "$bin/penstock" read readers --epoch 7 --steps 8 --no-digest --json >/dev/null  # builds the indexes
  before=$(ticks "$daemon")
  for ((i = 0; i < $1; i++)); do
    "$bin/penstock" read readers --epochs 1 --json ${3-} >"$work/read.$i.json" &
    pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i"; done
  cpu=$(awk -v t=$(($(ticks "$daemon") - before)) -v hz="$(getconf CLK_TCK)" 'BEGIN { print t / hz }')
  stop_daemon
  cat "$work"/read.[0-9]*.json | grep -o '"digest": "[^"]*"' | sort -u >"$work/digests"
  [ -n "${3-}" ] || [ "$(wc -l <"$work/digests")" = 1 ] || die "the readers' digests differ"
  json rows_per_second < <(cat "$work"/read.[0-9]*.json) |
    awk -v n="$1" -v cpu="$cpu" '{ sum += $1 } END { printf "  %d reader%s: %.0f rows/s together, daemon %.2f s of CPU\n", n, (n > 1 ? "s" : ""), sum, cpu }' >&2
}

for way in shared gRPC; do
  sockets=$work/sockets
  [ $way = shared ] || sockets=''
  : >"$work/pairs"
  echo "$way, with digests" >&2
  read_by "$readers" "$sockets"
  for ((round = 0; round < rounds; round++)); do
    echo "$way" >&2
    read_by "$readers" "$sockets" --no-digest; several=$cpu
    read_by 1 "$sockets" --no-digest
    echo "$several $cpu" >>"$work/pairs"
  done
  printf '%s, CPU of %s readers / of one:' "$way" "$readers"
  awk '{ printf " %.2f", $1 / $2 } END { print "" }' "$work/pairs"
done
