#!/usr/bin/env bash
# Rows/s of the loader on shards behind a web server (range_server, on this machine), against the same shards as local files, in
# turns, without a cache of records. The server uses a part of the CPUs, which a server on another machine would not do. So each ratio
# appears three times: of rows/s on the shared CPUs; of rows/s without the server's CPU time; of rows per CPU second of the loader's
# process alone. (On loopback the sender's calls also do most of the receiver's work below its socket. The second and third ratio
# exclude this work.) With APART=1 the server has the last CPU, and every loader has only the others, also for local files. The first
# ratio is then that of a server on another machine.
#   bench/object_storage.sh SHARDS_FOLDER [DELAY_MS ...]     (0 and 30 ms per request)
# TURNS=3, SECONDS_EACH=5; TIMES=N: each shard has N names, for epochs of more records (default 1); ORDER="shuffle: NONE": the job's
# order instead of the default; LATE="100 2000": one of 100 answers begins after 2000 ms; BEFORE=DIR: a folder with the penstock of
# another build, which the script also measures.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
[ $# -ge 1 ] || { sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2; }
shards=$(readlink -e -- "$1"); shift
delays=("$@"); [ $# -gt 0 ] || delays=(0 30)
port=$((20000 + RANDOM % 20000)) server=''
stop_server() { [ -z "$server" ] || { kill "$server" && wait "$server" 2>/dev/null || true; }; server=''; }
trap 'stop_server; rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
mkdir "$work/shards"
for file in "$shards"/*; do
  for ((i = 0; i < ${TIMES:-1}; i++)); do ln -s "$file" "$work/shards/$i-${file##*/}"; done
done
own=() servers=()
if [ "${APART:-0}" = 1 ]; then
  [ "$(nproc)" -ge 2 ] || { echo "APART=1 takes two CPUs" >&2; exit 2; }
  own=(taskset -c "0-$(($(nproc) - 2))") servers=(taskset -c "$(($(nproc) - 1))")
fi
standard_job near "$work/shards" 64 | sed "s|^order { seed: 17|& ${ORDER:-}|" >"$work/near.textproto"
files=$(cd "$work/shards" && for file in *; do printf 'files: "http://127.0.0.1:%s/%s" ' "$port" "$file"; done)
sed "s|^dataset .*|dataset { $files}|; s/near/far/" "$work/near.textproto" >"$work/far.textproto"
# Prints the server's CPU seconds so far.
server_cpu() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$server/stat"; }
# bench BIN JOB: prints rows/s; rows/s without the server's CPU time; rows per CPU second of the process; the server's CPU
# milliseconds for 1000 rows. The process's CPU time includes its start, about a second on both sides.
TIMEFORMAT='%U %S'
bench() {
  local before; before=$(server_cpu)
  { time "${own[@]}" "$1/penstock" bench "$work/$2.textproto" --no-stages --seconds "${SECONDS_EACH:-5}" --json >"$work/told"; } \
    2>"$work/cpu"
  echo "$(json rows_per_second <"$work/told") $(json rows <"$work/told") $(tail -1 "$work/cpu") $before $(server_cpu)" |
    awk -v cores="$(nproc)" '{ s = $6 - $5; wall = $2 / $1
      print $1, $1 / (1 - s / (wall * cores)), $2 / ($3 + $4), 1e6 * s / $2 }'
}
# both N FILE FILE: prints column N of two files side by side
both() { paste -d' ' <(awk -v n="$1" '{ print $n }' "$2") <(awk -v n="$1" '{ print $n }' "$3"); }
tell() { # DELAY NAME
  local near=$work/near$1 far=$work/$2$1
  echo "$1 ms a request, $2, of nearby: rows/s $(both 1 "$far" "$near" | ratios)"
  [ "${APART:-0}" = 1 ] || echo "    the server's CPU time taken off: $(both 2 "$far" "$near" | ratios)"
  echo "    rows per CPU second of the process: $(both 3 "$far" "$near" | ratios)"
  echo "    the server's CPU, ms for 1000 rows: $(awk '{ print $4 }' "$far" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')"
}
for delay in "${delays[@]}"; do
  "${servers[@]}" "$bin/range_server" "$port" "$work/shards" "$delay" ${LATE:-} & server=$!
  sleep 0.2
  bench "$bin" near >/dev/null; bench "$bin" far >/dev/null  # builds the indexes
  for ((i = 0; i < ${TURNS:-3}; i++)); do
    near=$(bench "$bin" near) far=$(bench "$bin" far)
    echo "$near" >>"$work/near$delay"
    echo "$far" >>"$work/far$delay"
    [ -z "${BEFORE:-}" ] || { before=$(bench "$BEFORE" far); echo "$before" >>"$work/before$delay"; }
    echo "$delay ms: nearby ${near%% *} rows/s, behind HTTP ${far%% *}${BEFORE:+, before ${before%% *}}" >&2
  done
  tell "$delay" far
  [ -z "${BEFORE:-}" ] || tell "$delay" before
  stop_server
done
