#!/usr/bin/env bash
# Penstock and tf.data service on the same shards on this machine, in turns, with the ratio of their rates.
#   run.sh [--photos DIR | --shards DIR] [--records N] [--turns N]
# --photos: a folder of *.JPEG, made into shards once ($PENSTOCK_REFERENCE_DATA/photos unless said).
# --shards: TFRecord shards with image/encoded and image/class/label.
# TensorFlow's environment: environments.sh.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/../daemon.sh"
. "$root/bench/standard_job.sh"
. "$here/environments.sh"
photos=${PENSTOCK_REFERENCE_DATA:-}${PENSTOCK_REFERENCE_DATA:+/photos}
shards='' records=4000 turns=3
while [ $# -gt 0 ]; do
  case $1 in
    --photos) photos=$2; shift 2 ;;
    --shards) shards=$(readlink -e "$2") || die "no such folder: $2"; shift 2 ;;
    --records) records=$2; shift 2 ;;
    --turns) turns=$2; shift 2 ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
  esac
done

python=$(tensorflow_python)
if [ -z "$shards" ]; then
  [ -d "$photos" ] || die "give --photos DIR or --shards DIR, or set PENSTOCK_REFERENCE_DATA"
  shards=$(tfrecord_shards "$photos" "$records")
fi
cat "$shards"/* >/dev/null  # both read from the page cache

tf=''
finish() {
  exec 3>&- 2>/dev/null || true
  [ -z "$tf" ] || { kill "$tf" 2>/dev/null && wait "$tf" 2>/dev/null || true; }
  stop_daemon
  rm -rf "$work"
}
trap finish EXIT

job=$work/job.textproto
standard_job peers "$shards" 256 >"$job"

# User and system time of a process so far, in clock ticks (proc(5)).
cpu_ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

# One epoch through a new daemon each time: nothing of the pass before is in its caches.
penstock_pass() {
  start_daemon "$shards"
  "$bin/penstock" submit "$job" >"$work/submit.log" 2>&1 || { cat "$work/submit.log" >&2; die "penstock submit failed"; }
  local before
  before=$(cpu_ticks "$daemon")
  TIMEFORMAT='%U %S'
  { time "$bin/penstock" read peers --epochs 1 --no-digest --json | tail -n 1 >"$work/read.json" 2>&3; } 3>&2 2>"$work/read.times"
  python3 - "$work/read.json" "$work/read.times" "$before" "$(cpu_ticks "$daemon")" <<'END'
import json, os, sys
read = json.load(open(sys.argv[1]))
cpu = sum(map(float, open(sys.argv[2]).read().split()[-2:])) + (int(sys.argv[4]) - int(sys.argv[3])) / os.sysconf("SC_CLK_TCK")
print(json.dumps({"rows_per_second": read["rows_per_second"], "cpu_ms_per_row": cpu / read["rows"] * 1e3}))
END
  stop_daemon
}

echo "Starting tf.data service (one dispatcher, one worker)"
mkfifo "$work/go"
"$python" "$here/tf_data_service.py" serve --shards "$shards" \
  <"$work/go" >"$work/tf.out" 2>"$work/tf.err" &
tf=$!
exec 3>"$work/go"
tf_line() { # the N-th line of its output, when it comes
  until [ "$(wc -l <"$work/tf.out")" -ge "$1" ]; do
    kill -0 "$tf" 2>/dev/null || { tail "$work/tf.err" >&2; die "tf_data_service.py ended early (above)"; }
    sleep 0.2
  done
  sed -n "$1p" "$work/tf.out"
}
tf_line 1 >/dev/null

for ((turn = 1; turn <= turns; ++turn)); do
  echo >&3
  tf_line $((turn + 1)) >>"$work/tf"
  penstock_pass >>"$work/ours"
  python3 - "$work/tf" "$work/ours" "$turn" "$turns" <<'END'
import json, statistics, sys
tf, ours = ([json.loads(line) for line in open(path)] for path in sys.argv[1:3])

def show(name, tf_rate, our_rate, tf_cpu, our_cpu):
    print(f"{name:8} tf.data service {tf_rate:7.1f} rows/s   Penstock {our_rate:7.1f} rows/s   ratio {our_rate / tf_rate:.2f}"
          f"   (CPU {tf_cpu:.2f} and {our_cpu:.2f} ms a row, ratio {tf_cpu / our_cpu:.2f})")

rates = [[line["rows_per_second"] for line in lines] for lines in (tf, ours)]
cpus = [[line["cpu_ms_per_row"] for line in lines] for lines in (tf, ours)]
show(f"turn {sys.argv[3]}", rates[0][-1], rates[1][-1], cpus[0][-1], cpus[1][-1])
if sys.argv[3] == sys.argv[4]:
    show("best", *map(max, rates), *map(min, cpus))
    show("median", *map(statistics.median, rates), *map(statistics.median, cpus))
END
done
