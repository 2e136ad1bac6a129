#!/usr/bin/env bash
# The standard recipe (random_resized_crop 224, flip, uint8) on all CPUs: Penstock's loader in one process, DALI's CPU
# pipeline, tf.data in process and torch's DataLoader with Pillow, in turns on the same photographs; one table of ratios.
#   image.sh [--photos DIR] [--records N] [--turns N] [--only "dali tf torch"]
# --photos: a folder of *.JPEG, made into shards once ($PENSTOCK_REFERENCE_DATA/photos unless said).
# Each peer has an environment of its own (environments.sh): TensorFlow 1.6 GB, DALI 1.1 GB, torch 5.4 GB (PyPI's wheel
# brings CUDA's libraries, which are not used here).
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(readlink -f "$here/../..")
. "$root/bench/standard_job.sh"
bin=${PENSTOCK_BIN:-$root/build/release/bin}
photos=${PENSTOCK_REFERENCE_DATA:-}${PENSTOCK_REFERENCE_DATA:+/photos}
records=4000 turns=5 only='dali tf torch' threads=$(nproc)
die() { printf 'image.sh: %s\n' "$*" >&2; exit 1; }
. "$here/environments.sh"
while [ $# -gt 0 ]; do
  case $1 in
    --photos) photos=$2; shift 2 ;;
    --records) records=$2; shift 2 ;;
    --turns) turns=$2; shift 2 ;;
    --only) only=$2; shift 2 ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
  esac
done
[ -x "$bin/penstock" ] || die "$bin/penstock is not there: ./run build (or set PENSTOCK_BIN)"
[ -d "$photos" ] || die "give --photos DIR, or set PENSTOCK_REFERENCE_DATA"

shards=$(tfrecord_shards "$photos" "$records")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PEER_LOGS=$work
standard_job peers "$shards" 256 >"$work/job.textproto"
arguments=()
for peer in $only; do
  case $peer in
    dali)
      python=$(dali_python)
      arguments+=(--peer "DALI CPU=$python $here/dali_cpu.py $shards $threads" --wanted 'DALI CPU=1.6') ;;
    tf)
      python=$(tensorflow_python)
      arguments+=(--peer "tf.data=$python $here/tf_data_local.py $shards $threads" --wanted tf.data=1.3) ;;
    torch)
      python=$(torch_python)
      arguments+=(--peer "torch DataLoader=$python $here/torch_loader.py $photos $threads $records"
                  --wanted 'torch DataLoader=2') ;;
    *) die "--only takes dali, tf and torch" ;;
  esac
done
echo "$records records, batches of 256, $threads threads, $turns turns"
python3 "$here/image_table.py" --turns "$turns" "${arguments[@]}" \
  --ours "$bin/penstock bench $work/job.textproto --no-stages --seconds 5 --json"
