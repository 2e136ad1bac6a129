#!/usr/bin/env bash
# The rate from a worker to a trainer on the same machine, for repeated batches of 64 x 224 x 224 x 3 in the worker's memory. The sides
# are Penstock through shared memory, Penstock over gRPC, and tf.data service over its own gRPC, in turns. Prints GB/s, and CPU
# seconds per GB of worker and trainer. Uses TensorFlow of bench/peers.
#   bench/transport.sh [ROUNDS] [BATCHES]     (3 rounds, 400 batches of 9.6 MB; Penstock is faster and reads four times as many)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/daemon.sh"
. "$root/bench/peers/environments.sh"
rounds=${1:-3} batches=${2:-400}
python=$(tensorflow_python) || die "TensorFlow cannot be had (above)"
"$bin/make_small_records" "$work/rows" 2048 4 150528 >/dev/null
cat >"$work/job.textproto" <<END
name: "batches"
dataset { files: "$work/rows/*" }
features { key: "raw" column: "image" type: BYTES decode_raw: UINT8 shape: [224, 224, 3] }
order { seed: 17 }
batch { size: 64 last: DROP }
END
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
tell() { printf '%-16s %.2f GB/s; CPU a GB: worker %.2f s, trainer %.2f s\n' "$@" >&2; }

# penstock NAME SOCKET_DIR: sets gb_NAME.
penstock() {
  local before after client result
  start_daemon "$work/rows" --row-cache 512MiB --socket-dir "$2"
  "$bin/penstock" submit "$work/job.textproto" --json >/dev/null
  "$bin/penstock" read batches --steps 40 --no-digest --json >/dev/null
  before=$(ticks "$daemon")
  TIMEFORMAT='%U %S'
  client=$({ time "$bin/penstock" read batches --steps $((batches * 4)) --no-digest --json >"$work/read.json"; } 2>&1)
  after=$(ticks "$daemon")
  stop_daemon
  result=$(awk -v rate="$(json rows_per_second <"$work/read.json")" -v n=$((batches * 4)) -v client="$client" \
    -v worker=$((after - before)) -v hz="$(getconf CLK_TCK)" 'BEGIN {
      split(client, c, " "); gb = n * 64 * 150528 / 1e9
      printf "%.3f %.3f %.3f", rate * 150528 / 1e9, worker / hz / gb, (c[1] + c[2]) / gb }')
  tell "$1" $result
  eval "gb_$1=${result%% *}"
}

: >"$work/grpc" && : >"$work/shared"
for ((i = 0; i < rounds; i++)); do
  mkdir -p -m 0700 "$work/sockets"
  penstock shared "$work/sockets"
  penstock grpc ''
  other=$("$python" "$root/bench/peers/tf_data_transport.py" "$batches" 2>"$work/tf.log") || { cat "$work/tf.log" >&2; die 'tf.data service failed (above)'; }
  tell 'tf.data service' $other
  echo "$gb_grpc ${other%% *}" >>"$work/grpc"
  echo "$gb_shared ${other%% *}" >>"$work/shared"
done
printf 'gRPC / tf.data service:          '; ratios <"$work/grpc"
printf 'shared memory / tf.data service: '; ratios <"$work/shared"
