#!/usr/bin/env bash
# What more connections for one stream give: rows/s of `penstock read` over gRPC through a proxy (link_proxy) that holds
# each connection to so many MB/s, as clouds do, or makes the way long; --wire-connections auto against 1, in turns. Rows
# come finished from the worker's cache, so that the way is what is measured; auto finds its connections in the time that
# is measured.
#   bench/connections.sh [ROUNDS] [STEPS] [DELAY_MS:MB_PER_SECOND...]
#       (3 rounds, 1600 steps of 64 rows of 150,528 bytes; 0:0, 0:300 and 30:0, where 0 MB/s is no limit)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
rounds=${1:-3} steps=${2:-1600}
shift $(($# < 2 ? $# : 2))
ways=("$@")
[ $# -gt 0 ] || ways=(0:0 0:300 30:0)
processes=()
trap 'stop_daemon; kill "${processes[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

"$bin/make_small_records" "$work/rows" 2000 4 150528 >/dev/null
cat >"$work/job.textproto" <<END
name: "far"
dataset { files: "$work/rows/*" }
features { key: "raw" column: "image" type: BYTES decode_raw: UINT8 shape: [224, 224, 3] }
features { key: "label" column: "label" type: INT64 }
order { seed: 17 }
batch { size: 64 last: DROP }
END
coordinator=$(free_port) port=$(free_port)
export PENSTOCK_COORDINATOR=127.0.0.1:$coordinator
"$bin/penstockd" coordinator --listen "$PENSTOCK_COORDINATOR" --state-dir "$work/c" >"$work/c.log" 2>&1 & processes+=($!)

# rate DELAY_MS MB_PER_SECOND CONNECTIONS
rate() {
  local far
  far=$(free_port)
  "$bin/link_proxy" "$far" "$port" "$1" "$2" & local proxy=$!
  "$bin/penstockd" worker --socket-dir '' --wire-compression off --wire-connections "$3" --row-cache 1GiB \
    --listen "127.0.0.1:$port" --advertise "127.0.0.1:$far" --coordinator "$PENSTOCK_COORDINATOR" \
    --data-root "$work/rows" --state-dir "$work/w" >"$work/w.log" 2>&1 & daemon=$!
  until "$bin/penstock" workers 2>/dev/null | grep -q "127.0.0.1:$far.*live"; do sleep 0.1; done
  "$bin/penstock" submit "$work/job.textproto" --json >/dev/null
  "$bin/penstock" read far --steps 40 --no-digest --json >/dev/null  # the rows are in the cache
  rate=$("$bin/penstock" read far --steps "$steps" --no-digest --json | json rows_per_second)
  awk -v r="$rate" -v ms="$1" -v mb="$2" -v n="$3" -v x="$(grep -o 'rows go by [^,]*' "$work/w.log" | tail -1)" \
    'BEGIN { printf "%3s ms, %4s MB/s, connections %-4s %9.1f rows/s, %.2f GB/s  %s\n", ms, mb, n, r, r * 150536 / 1e9, x }' >&2
  stop_daemon
  kill "$proxy"
  wait "$proxy" 2>/dev/null || true
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
