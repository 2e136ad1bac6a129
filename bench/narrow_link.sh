#!/usr/bin/env bash
# The gain of compression on a narrow link: rows/s of `penstock read` from a worker behind a link of some MB/s (link_proxy), with
# --wire-compression off and auto in turns. The worker makes the rows from photographs, as in any job. Each read has the rows that
# the link carries in SECONDS, at up to 250 MB/s. With auto, the measured time includes the worker's trial of compression.
# link_proxy limits each connection to that width, so the stream has one connection.
#   bench/narrow_link.sh SHARDS [ROUNDS] [SECONDS] [MB_PER_SECOND...]     (2 rounds of 20 s, 30, 125 and 1000 MB/s)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
shards=$(readlink -f "${1:?usage: bench/narrow_link.sh SHARDS [ROUNDS] [SECONDS] [MB_PER_SECOND...]}")
rounds=${2:-2} seconds=${3:-20}
shift $(($# < 3 ? $# : 3))
widths=("$@")
[ $# -gt 0 ] || widths=(30 125 1000)

cat >"$work/job.textproto" <<END
name: "narrow"
dataset { files: "$shards/*" }
features { key: "image/encoded" column: "image" type: BYTES }
features { key: "image/class/label" column: "label" type: INT64 default { ints: 0 } }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 224 width: 224 } }
ops { random_horizontal_flip { probability: 0.5 } }
order { seed: 17 shuffle: CHUNKED }
batch { size: 64 last: DROP }
END
start_coordinator

# rate WIDTH MODE: prints the rate through a link of that width.
rate() {
  start_linked_worker 0 "$1" "$shards" --wire-connections 1 --decoded-cache 0 --wire-compression "$2"
  "$bin/penstock" submit "$work/job.textproto" --json >/dev/null
  local steps=$((($1 < 250 ? $1 : 250) * 1000000 * seconds / 150528 / 64))
  "$bin/penstock" read narrow --steps "$steps" --json >"$work/read.json"
  stop_linked_worker
  rate=$(json rows_per_second <"$work/read.json") digest=$(sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$work/read.json")
  awk -v w="$1" -v m="$2" -v r="$rate" -v c="$(json compressed_bytes <"$work/read.json")" \
    -v b="$(json bytes_received <"$work/read.json")" \
    'BEGIN { printf "%5s MB/s, %-4s %8.1f rows/s, %.2f of the bytes compressed\n", w, m, r, c / b }' >&2
}
for ((i = 0; i < rounds; i++)); do
  for width in "${widths[@]}"; do
    rate "$width" off
    plain=$rate expected=$digest
    rate "$width" auto
    [ "$digest" = "$expected" ] || { echo "the digests differ" >&2; exit 1; }
    echo "$rate $plain" >>"$work/ratios-$width"
  done
done
for width in "${widths[@]}"; do
  printf '%s MB/s: auto / off: ' "$width"
  ratios <"$work/ratios-$width"
done
