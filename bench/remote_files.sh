#!/usr/bin/env bash
# Rows/s of the loader on files with slow reads, as on a network file system (slow_reads.c adds the time). The sides are the files
# without delay, the slow files, the slow files with read threads, and a full disk cache. They take turns. Prints the ratio of the
# disk cache to the files without delay.
#   bench/remote_files.sh SHARDS_FOLDER [DELAY_MS] [READ_THREADS] [TURNS]     (20 ms, 64 threads, 3 turns)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/standard_job.sh"
[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2; }
shards=$(readlink -e -- "$1") delay=${2:-20} threads=${3:-64} turns=${4:-3}
cc -shared -fPIC -O2 -o "$work/slow_reads.so" "$root/bench/slow_reads.c" -ldl
standard_job far "$shards" 64 >"$work/job.textproto"
export XDG_CACHE_HOME=$work/cache
bench() { "$bin/penstock" bench "$work/job.textproto" --no-stages --seconds 5 --json "$@" | json rows_per_second; }
far() { SLOW_READS_BELOW=$shards SLOW_READS_MS=$delay LD_PRELOAD=$work/slow_reads.so bench "$@"; }
bench >/dev/null  # builds the indexes, and fills the page cache
# Reads all records once, so that the cache on disk has them.
bench --disk-cache "$work/disk" --seconds 20 >/dev/null
for ((i = 0; i < turns; i++)); do
  near=$(bench) own=$(far) apart=$(far --read-threads "$threads")
  cached=$(far --read-threads "$threads" --disk-cache "$work/disk")
  echo "nearby $near rows/s; $delay ms a read: $own, with $threads read threads $apart, from the cache on disk $cached" >&2
  echo "$cached $near"
done | ratios
