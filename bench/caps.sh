#!/usr/bin/env bash
# The share of the workers' time that a job with cpu_share 0.25 gets while another job of the same recipe takes rows as fast as it can,
# and the rows/s of that other job against its rate alone. Both read in turn for some seconds.
#   bench/caps.sh SHARDS_FOLDER [ROUNDS] [SECONDS]    the standard recipe (5 rounds of 10 s)
set -euo pipefail
[ $# -ge 1 ] && [ -d "$1" ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
shards=$(readlink -f "$1") rounds=${2:-5} seconds=${3:-10}
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
cat "$shards"/* >/dev/null  # the page cache
http=127.0.0.1:$(free_port)
start_daemon "$shards" --http "$http" --memory-budget 1GiB --row-cache 0 --record-cache 0
for job in capped other; do
  standard_job "$job" "$shards" 64 >"$work/$job.textproto"
  [ "$job" = other ] || echo 'caps { cpu_share: 0.25 }' >>"$work/$job.textproto"
  "$bin/penstock" submit "$work/$job.textproto" --json >/dev/null
done

# made JOB: the seconds of the workers' threads on rows of the job so far.
made() {
  curl -fsS "http://$http/metrics" | awk -v job="job=\"$1\"" \
    '/^penstock_job_thread_seconds_total/ && index($0, job) && /making|reading/ { sum += $2 } END { printf "%.3f\n", sum }'
}

# read_for JOB...: reads the jobs for some seconds, and sets the array `spent` to the thread seconds of each.
read_for() {
  local readers=() job before=()
  for job in "$@"; do
    "$bin/penstock" read "$job" --epochs 100000 --no-digest >/dev/null 2>&1 &
    readers+=($!)
  done
  sleep 3  # all windows are full, and saved-up time is spent
  for job in "$@"; do before+=("$(made "$job")"); done
  sleep "$seconds"
  spent=()
  for job in "$@"; do spent+=("$(made "$job") ${before[${#spent[@]}]}"); done
  kill "${readers[@]}"
  wait "${readers[@]}" 2>/dev/null || true
}

for ((round = 0; round < rounds; round++)); do
  read_for other; alone=${spent[0]}
  read_for capped other
  echo "${spent[0]} ${spent[1]} $alone" | awk '{
    capped = $1 - $2; other = $3 - $4; alone = $5 - $6
    printf "capped job: %.3f of the time on rows; other job: %.3f of its time alone\n", capped / (capped + other), other / alone }' |
    tee -a "$work/rounds"
done
sort -k3,3n "$work/rounds" | awk '{ share[NR] = $3 } END { printf "capped job: median %.3f, from %.3f to %.3f\n", share[int((NR + 1) / 2)], share[1], share[NR] }'
