#!/usr/bin/env bash
# The cost of a long link: rows/s of `penstock read` over gRPC from a worker behind a link with a round trip of DELAY_MS, against the
# same worker without delay, in turns. Both are behind a proxy (link_proxy). The worker's cache has the finished rows, so that the
# link determines the rate. First prints the rate of the proxy itself.
#   bench/remote_hosts.sh [ROUNDS] [STEPS] [DELAY_MS...]     (3 rounds, 800 steps of 64 rows of 150,528 bytes, 1 and 10 ms)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
rounds=${1:-3} steps=${2:-800}
shift $(($# < 2 ? $# : 2))
delays=("${@:-}")
[ -n "${delays[0]}" ] || delays=(1 10)

# The proxy alone: one process fills a socket at one end and another empties it at the other.
python3 - "$bin/link_proxy" "$(free_port)" <<'END'
import socket, subprocess, sys, threading, time
target = socket.create_server(("127.0.0.1", 0))
proxy = subprocess.Popen([sys.argv[1], sys.argv[2], str(target.getsockname()[1]), "0"])
def fill():
    peer, piece = target.accept()[0], bytes(1 << 20)
    for _ in range(2048):
        peer.sendall(piece)
    peer.close()
threading.Thread(target=fill, daemon=True).start()
for _ in range(100):
    try:
        end = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
        break
    except ConnectionRefusedError:
        time.sleep(0.02)
room, got, begun = bytearray(1 << 20), 0, time.perf_counter()
while n := end.recv_into(room):
    got += n
print(f"the proxy carries {got / 1e9 / (time.perf_counter() - begun):.2f} GB/s", file=sys.stderr)
proxy.kill()
END

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

# rate DELAY_MS: prints the rate of the worker with that delay, and sets rate.
rate() {
  local result
  start_linked_worker "$1" 0 "$work/rows" --row-cache 1GiB
  "$bin/penstock" submit "$work/job.textproto" --json >/dev/null
  "$bin/penstock" read far --steps 40 --no-digest --json >/dev/null  # fills the cache with the rows
  result=$("$bin/penstock" read far --steps "$steps" --no-digest --json | json rows_per_second)
  stop_linked_worker
  awk -v r="$result" -v ms="$1" 'BEGIN { printf "%4s ms %9.1f rows/s, %.2f GB/s\n", ms, r, r * 150536 / 1e9 }' >&2
  rate=$result
}
for ((i = 0; i < rounds; i++)); do
  rate 0
  near=$rate
  for delay in "${delays[@]}"; do
    rate "$delay"
    echo "$rate $near" >>"$work/ratios-$delay"
  done
done
for delay in "${delays[@]}"; do
  printf '%s ms / no delay: ' "$delay"
  ratios <"$work/ratios-$delay"
done
