#!/usr/bin/env bash
# The gain of several connections for one stream: rows/s of `penstock read` over gRPC with --wire-connections auto, against 1, in
# turns. A proxy (link_proxy) delays the link, or limits each connection to some MB/s, as clouds do. The worker's cache has the
# finished rows, so that the link determines the rate. With auto, the measured time includes the search for the number of
# connections.
#   bench/connections.sh [ROUNDS] [STEPS] [DELAY_MS:MB_PER_SECOND...]
#       (3 rounds, 1600 steps of 64 rows of 150,528 bytes; 0:0, 0:300 and 30:0, where 0 MB/s is no limit)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
rounds=${1:-3} steps=${2:-1600}
shift $(($# < 2 ? $# : 2))
ways=("$@")
[ $# -gt 0 ] || ways=(0:0 0:300 30:0)

"$bin/make_small_records" "$work/rows" 2000 4 150528 >/dev/null
cat >"$work/job.textproto" <<END
name: "far"
dataset { files: "$work/rows/*" }
features { key: "raw" column: "image" type: BYTES decode_raw: UINT8 shape: [224, 224, 3] }
features { key: "label" column: "label" type: INT64 }
order { seed: 17 }
batch { size: 64 last: DROP }
END
start_coordinator

# rate DELAY_MS MB_PER_SECOND CONNECTIONS
rate() {
  start_linked_worker "$1" "$2" "$work/rows" --wire-compression off --wire-connections "$3" --row-cache 1GiB
  "$bin/penstock" submit "$work/job.textproto" --json >/dev/null
  "$bin/penstock" read far --steps 40 --no-digest --json >/dev/null  # fills the cache with the rows
  rate=$("$bin/penstock" read far --steps "$steps" --no-digest --json | json rows_per_second)
  awk -v r="$rate" -v ms="$1" -v mb="$2" -v n="$3" -v x="$(grep -o 'rows go by [^,]*' "$work/w.log" | tail -1)" \
    'BEGIN { printf "%3s ms, %4s MB/s, connections %-4s %9.1f rows/s, %.2f GB/s  %s\n", ms, mb, n, r, r * 150536 / 1e9, x }' >&2
  stop_linked_worker
}
for ((i = 0; i < rounds; i++)); do
  for way in "${ways[@]}"; do
    rate "${way%:*}" "${way#*:}" 1
    one=$rate
    rate "${way%:*}" "${way#*:}" auto
    echo "$rate $one" >>"$work/ratios-$way"
  done
done
for way in "${ways[@]}"; do
  printf '%s ms, %s MB/s a connection: auto / 1: ' "${way%:*}" "${way#*:}"
  ratios <"$work/ratios-$way"
done
