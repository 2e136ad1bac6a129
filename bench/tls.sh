#!/usr/bin/env bash
# The rates of a trainer over gRPC with TLS, with roles and tickets, and in plaintext, and through shared memory beside TLS, in turns,
# with ratios and the CPU time of each side. The standard recipe; TFRecord shards of photographs.
#   bench/tls.sh SHARDS_FOLDER [ROUNDS] [SECONDS]
# Needs the program openssl, which makes the certificates.
set -euo pipefail
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
shards=$(readlink -f "$1") rounds=${2:-9} seconds=${3:-6}
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
batch=64
job=$work/job.textproto
standard_job tls "$shards" $batch >"$job"
cat "$shards"/* >/dev/null  # all sides read from the page cache

mkdir "$work/tls"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bench \
  -addext subjectAltName=IP:127.0.0.1 -keyout "$work/tls/key.pem" -out "$work/tls/cert.pem" 2>/dev/null
with_tls=(--tls-cert "$work/tls/cert.pem" --tls-key "$work/tls/key.pem")

umask 077
for name in ops:operator me:trainer; do
  "$bin/penstock" token "${name%:*}" --role "${name#*:}" --file "$work/tokens" >"$work/${name%:*}.token"
done

# Prints the ticks of CPU time of a process so far.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
steps=''

# read_through NAME SOCKET_DIR [DAEMON_FLAG ...]: sets rate_NAME, and prints the CPU times.
read_through() {
  local name=$1 socket_dir=$2 before after client trusted='' submitter='' reader=''
  shift 2
  case " $* " in *' --tls-cert '*) trusted=$work/tls/cert.pem ;; esac
  case " $* " in *' --tokens '*) submitter=$work/ops.token reader=$work/me.token ;; esac
  start_daemon "$shards" --record-cache 0 --socket-dir "$socket_dir" "$@"
  export PENSTOCK_TLS_CA=$trusted
  PENSTOCK_TOKEN_FILE=$submitter "$bin/penstock" submit "$job" --json >/dev/null
  export PENSTOCK_TOKEN_FILE=$reader
  "$bin/penstock" read tls --steps 40 --no-digest --json >"$work/read.json"  # indexes, page tables
  [ -n "$steps" ] ||
    steps=$(json rows_per_second <"$work/read.json" | awk -v s="$seconds" -v b=$batch '{ n = int($1 * s / b); print n < 4 ? 4 : n }')
  before=$(ticks "$daemon")
  TIMEFORMAT='%U %S'
  client=$({ time "$bin/penstock" read tls --steps "$steps" --no-digest --json >"$work/read.json"; } 2>&1)
  after=$(ticks "$daemon")
  stop_daemon
  eval "rate_$name=$(json rows_per_second <"$work/read.json")"
  awk -v name="$name" -v r="$(json rows_per_second <"$work/read.json")" -v bytes="$(json bytes_received <"$work/read.json")" \
    -v hz="$(getconf CLK_TCK)" -v ticks="$((after - before))" -v client="$client" 'BEGIN {
      split(client, c, " "); gb = bytes / 1e9
      printf "%-9s %8.1f rows/s; CPU a GB: worker %.2f s, trainer %.2f s\n", name, r, ticks / hz / gb, (c[1] + c[2]) / gb }' >&2
}

: >"$work/grpc" && : >"$work/shared" && : >"$work/tickets"
mkdir -m 0700 "$work/sockets"
for ((i = 0; i < rounds; i++)); do
  read_through plaintext ''
  read_through tls '' "${with_tls[@]}"
  read_through roles '' --tokens "$work/tokens"
  read_through shared "$work/sockets"
  read_through shared_tls "$work/sockets" "${with_tls[@]}"
  echo "$rate_tls $rate_plaintext" >>"$work/grpc"
  echo "$rate_roles $rate_plaintext" >>"$work/tickets"
  echo "$rate_shared_tls $rate_shared" >>"$work/shared"
done
printf 'gRPC, TLS / plaintext:                   '; ratios <"$work/grpc"
printf 'gRPC, roles and tickets / plaintext:     '; ratios <"$work/tickets"
printf 'shared memory, cluster with TLS / without: '; ratios <"$work/shared"
