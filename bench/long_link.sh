#!/usr/bin/env bash
# Rows/s of `penstock read` from a worker behind a long link, against the same worker nearby, in turns. Both are behind
# delay_proxy.py, which lengthens the round trip and does not limit the rate. Rows are raw pixels (147 KiB each), which cost the
# worker nearly no time, so that the link determines the rate.
#   bench/long_link.sh [DELAY_MS] [PAIRS] [STEPS] [FLAG...]     (100 ms, 3 pairs, 150 steps of 16 rows; flags of `read`)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
delay=${1:-100} pairs=${2:-3} steps=${3:-150}
shift $(($# < 3 ? $# : 3))
python3 - "$work/images.npy" <<'END'
import os, sys
with open(sys.argv[1], "wb") as out:
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (800, 224, 224, 3), }".ljust(117) + "\n"
    out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    for _ in range(800):
        out.write(os.urandom(224 * 224 * 3))
END
"$bin/penstock" import "$work/images.npy" --out "$work/data" >/dev/null
sed -e 's/^name: .*/name: "raw"/' -e 's/size: [0-9]*/size: 16/' "$work/data/job.textproto" >"$work/job.textproto"
near=$(free_port) far=$(free_port) port=$(free_port) coordinator=$(free_port) processes='' worker=''
trap 'kill $worker $processes 2>/dev/null; rm -rf "$work"' EXIT
"$root/bench/delay_proxy.py" "$near" "127.0.0.1:$port" 0 & processes+=" $!"
"$root/bench/delay_proxy.py" "$far" "127.0.0.1:$port" "$delay" & processes+=" $!"
export PENSTOCK_COORDINATOR=127.0.0.1:$coordinator
"$bin/penstockd" coordinator --listen "$PENSTOCK_COORDINATOR" --state-dir "$work/c" >"$work/c.log" 2>&1 & processes+=" $!"

# rate PORT FLAG...: prints the rate of the worker behind that port.
rate() {
  local rate
  "$bin/penstockd" worker --socket-dir '' --listen "127.0.0.1:$port" --advertise "127.0.0.1:$1" --coordinator "$PENSTOCK_COORDINATOR" \
    --data-root "$work/data" --state-dir "$work/w" >"$work/w.log" 2>&1 & worker=$!
  until "$bin/penstock" workers 2>/dev/null | grep -q "127.0.0.1:$1.*live"; do sleep 0.1; done
  "$bin/penstock" submit "$work/job.textproto" --json >/dev/null
  "$bin/penstock" read raw --steps 60 --no-digest --json "${@:2}" >/dev/null  # fills the worker's cache with the records
  rate=$("$bin/penstock" read raw --steps "$steps" --no-digest --json "${@:2}" | json rows_per_second)
  kill "$worker" && wait "$worker" 2>/dev/null || true
  worker=''
  echo "$rate"
}
for ((i = 0; i < pairs; i++)); do
  a=$(rate "$far" "$@") b=$(rate "$near" "$@")
  echo "$delay ms away: $a rows/s, nearby: $b rows/s" >&2
  echo "$a $b"
done | ratios
