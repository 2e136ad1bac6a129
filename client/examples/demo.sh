#!/usr/bin/env bash
# The demo: starts a coordinator and two workers on this machine. A trainer reads two epochs from them over gRPC. It then
# reads the second epoch again, while the script kills one worker.
#   demo.sh          on generated photographs (in build/demo or $PENSTOCK_DEMO_DIR, generated once)
#   demo.sh DIR      on the TFRecord files in DIR, which have an image and an integer label
# ./run demo builds the programs and starts this script.
set -euo pipefail
root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
bin=${PENSTOCK_BIN:-$root/build/release/bin}
place=${PENSTOCK_DEMO_DIR:-$root/build/demo}
export XDG_CACHE_HOME=$place/cache  # where penstock init keeps indexes
job=demo

if [ "${TERM:-dumb}" = dumb ] || [ ! -t 1 ]; then bold='' plain=''; else bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
die() { printf 'demo: %s\n' "$*" >&2; exit 1; }

for program in penstock penstockd trainer make_demo_dataset; do
  [ -x "$bin/$program" ] || die "$bin/$program is not there: start this with ./run demo"
done
mkdir -p "$place"
work=$(mktemp -d "$place/run.XXXXXX")

processes=()
finish() {
  local status=$?
  trap - EXIT
  [ ${#processes[@]} -eq 0 ] || kill -9 "${processes[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  if [ "$status" -eq 0 ]; then rm -rf "$work"; else echo "demo: failed; the logs are in $work" >&2; fi
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start NAME ARGUMENTS...: a penstockd in the background; its process id is in $started.
start() {
  local name=$1
  shift
  "$bin/penstockd" "$@" --listen 127.0.0.1:0 --state-dir "$work/$name" --port-file "$work/$name.port" \
    >"$work/$name.log" 2>&1 &
  started=$!
  processes+=("$started")
  disown "$started"  # no "Killed" from the shell when it is
}

# until_true SECONDS WHAT COMMAND...
until_true() {
  local limit=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [ "$SECONDS" -ge "$limit" ]; then
      tail -n 5 "$work"/*.log >&2
      die "waited too long for $what (the last lines of the logs are above)"
    fi
    sleep 0.1
  done
}

if [ $# -eq 0 ]; then
  images=${PENSTOCK_DEMO_IMAGES:-3000}
  data=$place/photographs-$images
  say "Data: made-up photographs in TFRecord shards, sorted by class"
  "$bin/make_demo_dataset" "$data" "$images" 10
else
  data=$(readlink -e -- "$1") || die "no such folder: $1"
  [ -d "$data" ] || die "$data is no folder: give the folder of the TFRecord files"
fi

say "A job file, from what the first records hold: penstock init"
"$bin/penstock" init "$data" --name "$job" --out "$work/$job.textproto"
# Smaller batches than for a GPU, so that an epoch has many steps.
sed -i 's/^batch { size: [0-9]*/batch { size: 64/' "$work/$job.textproto"
grep -Ev '^ *(#|$)' "$work/$job.textproto" | sed 's/^/    /'
grep -q 'column: "image"' "$work/$job.textproto" && grep -q 'column: "label"' "$work/$job.textproto" ||
  die "the trainer of this demo needs an image and an integer label; the first records of $data have not both"

say "A coordinator and two workers"
start coordinator coordinator
until_true 20 "the coordinator" test -s "$work/coordinator.port"
PENSTOCK_COORDINATOR=127.0.0.1:$(cat "$work/coordinator.port")
export PENSTOCK_COORDINATOR
for number in 1 2; do
  start "worker-$number" worker --coordinator "$PENSTOCK_COORDINATOR" --data-root "$data" --memory-budget 1GiB
  workers[number]=$started
done
until_true 30 "the first worker" test -s "$work/worker-1.port"
until_true 30 "the second worker" test -s "$work/worker-2.port"
echo "coordinator on $PENSTOCK_COORDINATOR, workers are processes ${workers[1]} and ${workers[2]}"

say "penstock submit"
"$bin/penstock" submit "$work/$job.textproto"
"$bin/penstock" workers

# Shows every tenth step and the sums of epochs.
brief() { awk '$3 != "step" { print; next } { split($4, s, "/"); if (s[1] % 10 == 0 || s[1] == s[2]) print } { fflush() }'; }
# field FILE NAME: the number behind NAME in the line of epoch 1, such as "longest wait".
field() { sed -n "s/^epoch 1: .*$2 \([0-9a-f.]*\).*/\1/p" "$1" | tail -n 1; }

say "Two epochs of training over gRPC: softmax regression on small pixels"
"$bin/trainer" --job "$job" --epochs 2 | tee "$work/undisturbed" | brief

say "penstock status"
"$bin/penstock" status

say "The second epoch again; in its middle one worker is killed (SIGKILL)"
half=$(awk '/^epoch 1 step/ { split($4, s, "/") } END { print int(s[2] / 2) }' "$work/undisturbed")
"$bin/trainer" --job "$job" --epoch 1 >"$work/disturbed" 2>"$work/trainer.err" &
trainer=$!
processes+=("$trainer")
reached_half() {
  awk -v half="$half" '/^epoch 1 step/ { split($4, s, "/"); if (s[1] + 0 >= half + 0) found = 1 } END { exit !found }' \
    "$work/disturbed"
}
until_true 300 "the middle of the epoch" reached_half
kill -9 "${workers[2]}"
at=$(grep -c '^epoch 1 step' "$work/disturbed")
wait "$trainer" || { cat "$work/trainer.err" >&2; die "the trainer failed (above)"; }
brief <"$work/disturbed"
echo "(a new trainer with a new model: the rows are the same, the loss is not)"
echo
"$bin/penstock" workers

say "What became of it"
expected=$(field "$work/undisturbed" digest)
got=$(field "$work/disturbed" digest)
echo "worker process ${workers[2]} was killed after step $at"
echo "digest of the second epoch's ids, labels and pixels: $expected undisturbed, $got with the worker killed"
[ -n "$got" ] && [ "$expected" = "$got" ] || die "the digests differ: this is a bug, please report it with $work"
echo "the same rows, each once, in the same order"
echo "longest wait for a batch: $(field "$work/undisturbed" 'longest wait') s undisturbed, $(field "$work/disturbed" 'longest wait') s with the worker killed"
