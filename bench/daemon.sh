# Functions for the benchmarks that need a daemon. start_daemon ROOT [FLAG...] starts `penstockd standalone` on a free port, with its
# files in $work, and sets PENSTOCK_COORDINATOR. start_coordinator and start_linked_worker (below) do the same for a worker behind a
# link. When the script ends, it ends all processes and removes their files.
root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/..")
bin=${PENSTOCK_BIN:-$root/build/release/bin}
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
for program in penstock penstockd; do
  [ -x "$bin/$program" ] || die "$bin/$program does not exist: cmake --build build/release --target benches (or set PENSTOCK_BIN)"
done
work=$(mktemp -d)
daemon='' proxy='' coordinator=''
stop_daemon() {
  [ -z "$daemon" ] || { kill "$daemon" 2>/dev/null && wait "$daemon" 2>/dev/null || true; }
  daemon=''
}
stop_all() {
  stop_linked_worker
  [ -z "$coordinator" ] || kill "$coordinator" 2>/dev/null || true
  rm -rf "$work"
}
trap stop_all EXIT

start_daemon() {
  local data_root=$1; shift
  # A growing cache would change the measured work from epoch to epoch. caches_as_found=1 permits it.
  case " $* " in *' --decoded-cache '*) ;; *) [ -n "${caches_as_found:-}" ] || set -- --decoded-cache 0 "$@" ;; esac
  rm -rf "$work/state" "$work/port"
  "$bin/penstockd" standalone --listen 127.0.0.1:0 --port-file "$work/port" --data-root "$data_root" \
    --state-dir "$work/state" "$@" >"$work/penstockd.log" 2>&1 &
  daemon=$!
  local waited=0
  until [ -s "$work/port" ]; do
    kill -0 "$daemon" 2>/dev/null && [ $((waited += 1)) -lt 200 ] ||
      { cat "$work/penstockd.log" >&2; die "penstockd did not come up (above)"; }
    sleep 0.05
  done
  PENSTOCK_COORDINATOR=127.0.0.1:$(cat "$work/port")
  export PENSTOCK_COORDINATOR
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Starts a separate coordinator, for workers that start_linked_worker starts one after another.
start_coordinator() {
  PENSTOCK_COORDINATOR=127.0.0.1:$(free_port)
  export PENSTOCK_COORDINATOR
  "$bin/penstockd" coordinator --listen "$PENSTOCK_COORDINATOR" --state-dir "$work/c" >"$work/c.log" 2>&1 &
  coordinator=$!
}

# start_linked_worker DELAY_MS MB_PER_SECOND ROOT [FLAG...]: starts a worker behind link_proxy (0: no delay, no limit).
# Returns when it is live. Its log is $work/w.log. stop_linked_worker ends both.
start_linked_worker() {
  local delay=$1 width=$2 data_root=$3 port far waited=0; shift 3
  port=$(free_port) far=$(free_port)
  "$bin/link_proxy" "$far" "$port" "$delay" "$width" &
  proxy=$!
  "$bin/penstockd" worker --socket-dir '' --listen "127.0.0.1:$port" --advertise "127.0.0.1:$far" \
    --coordinator "$PENSTOCK_COORDINATOR" --data-root "$data_root" --state-dir "$work/w" "$@" >"$work/w.log" 2>&1 &
  daemon=$!
  until "$bin/penstock" workers 2>/dev/null | grep -q "127.0.0.1:$far.*live"; do
    kill -0 "$daemon" 2>/dev/null && [ $((waited += 1)) -lt 200 ] ||
      { cat "$work/w.log" >&2; die "the worker did not come up (above)"; }
    sleep 0.1
  done
}
stop_linked_worker() {
  stop_daemon
  [ -z "$proxy" ] || { kill "$proxy" 2>/dev/null && wait "$proxy" 2>/dev/null || true; }
  proxy=''
}

# json KEY: prints a number of the JSON object on standard input.
json() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p"; }

# ratios: reads lines "A B" on standard input, prints the best and the median of A/B.
ratios() {
  awk '{ r[NR] = $1 / $2 } END { n = asort_(r, NR); printf "best %.3f, median %.3f of %d pairs\n", r[n], (n % 2) ? r[(n + 1) / 2] : (r[n / 2] + r[n / 2 + 1]) / 2, n }
       function asort_(a, n,   i, j, t) { for (i = 2; i <= n; i++) { t = a[i]; for (j = i - 1; j >= 1 && a[j] > t; j--) a[j + 1] = a[j]; a[j + 1] = t } return n }'
}
