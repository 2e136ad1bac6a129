#!/usr/bin/env bash
# Rows/s of the loader on shards behind a web server (range_server, on this machine), against the same shards as local files,
# in turns, with no cache of records: what reading costs. The server takes its part of the CPUs.
#   bench/object_storage.sh SHARDS_FOLDER [DELAY_MS ...]     (0 and 30 ms a request)
# TURNS=3, SECONDS_EACH=5; BEFORE=DIR: a folder with another build's penstock, which is measured beside.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
[ $# -ge 1 ] || { sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2; }
shards=$(readlink -e -- "$1"); shift
delays=("$@"); [ $# -gt 0 ] || delays=(0 30)
port=$((20000 + RANDOM % 20000)) server=''
stop_server() { [ -z "$server" ] || { kill "$server" && wait "$server" 2>/dev/null || true; }; server=''; }
trap 'stop_server; rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
standard_job near "$shards" 64 >"$work/near.textproto"
files=$(cd "$shards" && for file in *; do printf 'files: "http://127.0.0.1:%s/%s" ' "$port" "$file"; done)
sed "s|^dataset .*|dataset { $files}|; s/near/far/" "$work/near.textproto" >"$work/far.textproto"
bench() { "$1/penstock" bench "$work/$2.textproto" --no-stages --seconds "${SECONDS_EACH:-5}" --json | json rows_per_second; }
for delay in "${delays[@]}"; do
  "$bin/range_server" "$port" "$shards" "$delay" & server=$!
  sleep 0.2
  bench "$bin" near >/dev/null; bench "$bin" far >/dev/null  # the indexes are kept
  for ((i = 0; i < ${TURNS:-3}; i++)); do
    near=$(bench "$bin" near) far=$(bench "$bin" far)
    echo "$far $near" >>"$work/after$delay"
    [ -z "${BEFORE:-}" ] || { before=$(bench "$BEFORE" far); echo "$before $near" >>"$work/before$delay"; }
    echo "$delay ms: nearby $near rows/s, behind HTTP $far${BEFORE:+, before $before}" >&2
  done
  echo "$delay ms a request, of nearby: $(ratios <"$work/after$delay")"
  [ -z "${BEFORE:-}" ] || echo "$delay ms a request, before: $(ratios <"$work/before$delay")"
  stop_server
done
