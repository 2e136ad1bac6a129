#!/usr/bin/env bash
# The rates of a trainer on the worker's host: through shared memory, over gRPC, and from the loader in its own process, in
# turns, with ratios and the CPU time of each side.
#   bench/same_host.sh SHARDS_FOLDER [ROUNDS] [SECONDS]   the standard recipe; TFRecord shards of photographs
#   bench/same_host.sh --prepared [ROUNDS] [SECONDS]      finished rows of 150,528 bytes from the row cache, next to memcpy
# All sides have as many threads as there are CPUs.
set -euo pipefail
[ $# -ge 1 ] && { [ -d "$1" ] || [ "$1" = --prepared ]; } || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
what=$1 rounds=${2:-5} seconds=${3:-8}
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
batch=128 keep=()
job=$work/job.textproto
if [ "$what" = --prepared ]; then
  shards=$work/rows keep=(--row-cache 1GiB)
  "$bin/make_small_records" "$shards" 4000 4 150528 >/dev/null
  cat >"$job" <<END
name: "same-host"
dataset { files: "$shards/*" }
features { key: "raw" column: "image" type: BYTES decode_raw: UINT8 shape: [224, 224, 3] }
features { key: "label" column: "label" type: INT64 }
order { seed: 17 }
batch { size: $batch last: DROP }
END
else
  shards=$(readlink -f "$what")
  standard_job same-host "$shards" $batch >"$job"
fi
cat "$shards"/* >/dev/null  # all sides read from the page cache

# Prints the ticks of CPU time of a process so far.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
rate=$("$bin/penstock" bench "$job" --no-stages --seconds 3 --json | json rows_per_second)
steps=$(awk -v rate="$rate" -v s="$seconds" -v b=$batch 'BEGIN { n = int(rate * s / b); print n < 4 ? 4 : n }')

# read_through NAME SOCKET_DIR: sets rate_NAME, and prints the CPU times.
read_through() {
  local name=$1 socket_dir=$2 before after client
  start_daemon "$shards" --record-cache 0 "${keep[@]}" --socket-dir "$socket_dir"
  "$bin/penstock" submit "$job" --json >/dev/null
  "$bin/penstock" read same-host --steps 40 --no-digest --json >/dev/null  # indexes, page tables, finished rows
  before=$(ticks "$daemon")
  TIMEFORMAT='%U %S'
  client=$({ time "$bin/penstock" read same-host --steps "$steps" --no-digest --json >"$work/read.json"; } 2>&1)
  after=$(ticks "$daemon")
  stop_daemon
  eval "rate_$name=$(json rows_per_second <"$work/read.json")"
  awk -v name="$name" -v r="$(json rows_per_second <"$work/read.json")" -v rows="$((steps * batch))" \
    -v bytes="$(json bytes_received <"$work/read.json")" -v shared="$(json shared_memory_bytes <"$work/read.json")" \
    -v hz="$(getconf CLK_TCK)" -v ticks="$((after - before))" -v client="$client" 'BEGIN {
      split(client, c, " "); w = ticks / hz; t = c[1] + c[2]; gb = bytes / 1e9
      printf "%-6s %8.1f rows/s, %.2f GB/s; CPU a GB: worker %.2f s, trainer %.2f s; %.0f %% through shared memory\n",
        name, r, r * bytes / rows / 1e9, w / gb, t / gb, 100 * shared / bytes }' >&2
}

: >"$work/shared" && : >"$work/grpc" && : >"$work/both" && : >"$work/copy"
for ((i = 0; i < rounds; i++)); do
  local_rate=$("$bin/penstock" bench "$job" --no-stages --seconds "$seconds" --json | json rows_per_second)
  printf 'loader %8.1f rows/s in one process\n' "$local_rate" >&2
  mkdir -p -m 0700 "$work/sockets"
  read_through shared "$work/sockets"
  read_through grpc ''
  echo "$rate_shared $local_rate" >>"$work/shared"
  echo "$rate_grpc $local_rate" >>"$work/grpc"
  echo "$rate_shared $rate_grpc" >>"$work/both"
  [ "$what" = --prepared ] || continue
  copied=$(python3 - <<'END'
import time
row, rows = 150528, 4000
# Writes to every page: unwritten pages are one page of zeros, which stays in the cache.
source, target = memoryview(bytearray(b'\1') * (row * rows)), memoryview(bytearray(b'\2') * (row * 512))
best = 0.0
for _ in range(3):
    begun = time.perf_counter()
    for i in range(rows):
        at = i % 512 * row
        target[at:at + row] = source[i * row:(i + 1) * row]
    best = max(best, rows / (time.perf_counter() - begun))
print(best)
END
)
  printf 'memcpy %8.1f rows/s on one CPU\n' "$copied" >&2
  echo "$rate_shared $copied" >>"$work/copy"
done
printf 'shared memory / in-process: '; ratios <"$work/shared"
printf 'gRPC / in-process:          '; ratios <"$work/grpc"
printf 'shared memory / gRPC:       '; ratios <"$work/both"
if [ "$what" = --prepared ]; then printf 'shared memory / memcpy:     '; ratios <"$work/copy"; fi
