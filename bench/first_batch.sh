#!/usr/bin/env bash
# The time of `penstock read` to its first batch on an indexed data set of many small records.
#   bench/first_batch.sh [RECORDS] [RUNS]      (1000000 records, 5 runs)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
records=${1:-1000000} runs=${2:-5}
"$bin/make_small_records" "$work/data" "$records" 16
cat >"$work/job.textproto" <<END
name: "small"
dataset { files: "small-*" }
features { key: "id" type: INT64 }
features { key: "label" type: INT64 }
order { seed: 17 }
batch { size: 256 last: DROP }
END
start_daemon "$work/data"
"$bin/penstock" submit "$work/job.textproto"
for ((i = 0; i < runs; i++)); do
  "$bin/penstock" read small --steps 20 --epoch "$i" --json | json first_batch_seconds
done | sort -g | awk '{ t[NR] = $1 } END { printf "first batch after %.3f s at best, %.3f s in the median, %.3f s at worst, of %d runs\n", t[1], t[int((NR + 1) / 2)], t[NR], NR }'
