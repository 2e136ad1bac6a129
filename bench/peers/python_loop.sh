#!/usr/bin/env bash
# The trainer's eye: a Python loop that reads each batch of the standard recipe (random_resized_crop 224, flip, uint8) once, on
# all CPUs: penstock.Loader without a daemon and served, and the loaders of others, in turns on the same photographs; with
# Penstock's own C++ programs, in process and served, as the mark. One table and one chart.
#   python_loop.sh [--photos DIR] [--records N] [--turns N] [--minutes M] [--batch N] [--only "torch dali ..."] [--out FOLDER]
# --photos: a folder of *.JPEG ($PENSTOCK_REFERENCE_DATA/photos unless said). --only: of torch, dali, ffcv, tf, tfservice, spdl,
# grain; none: "". --out: where python_loop.json and python_loop.png go (the folder that it is called in).
# --minutes: begin no further turn that would end later, counted from when all are warm (60).
# Peers whose environment cannot be made are left out, and named. Environments: environments.sh, some 3 GB and the frameworks.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/../daemon.sh"
. "$root/bench/standard_job.sh"
. "$here/environments.sh"
photos=${PENSTOCK_REFERENCE_DATA:-}${PENSTOCK_REFERENCE_DATA:+/photos}
records=4000 turns=5 minutes=60 batch=64 only='torch dali ffcv tf tfservice spdl grain' out=$PWD threads=$(nproc)
while [ $# -gt 0 ]; do
  case $1 in
    --photos) photos=$2; shift 2 ;;
    --records) records=$2; shift 2 ;;
    --turns) turns=$2; shift 2 ;;
    --minutes) minutes=$2; shift 2 ;;
    --batch) batch=$2; shift 2 ;;
    --only) only=$2; shift 2 ;;
    --out) out=$(readlink -e "$2") || die "no such folder: $2"; shift 2 ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
  esac
done
[ -d "$photos" ] || die "give --photos DIR, or set PENSTOCK_REFERENCE_DATA"
shards=$(tfrecord_shards "$photos" "$records")
export PEER_BATCH=$batch PEER_TOUCH=1 PEER_LOGS=$work PENSTOCK_PROGRAM=$bin/penstock TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=

peers=()
# peer NAME PYTHON-FUNCTION SCRIPT ARGUMENT...
peer() {
  local name=$1 python; shift
  if python=$("$1"); then peers+=(--peer "$name=$python $here/${*:2}"); else echo "$name is left out (above)" >&2; fi
}
for name in $only; do
  case $name in
    torch) peer 'torch DataLoader' torch_python torch_loader.py "$photos" "$threads" "$records" --tensors ;;
    dali) peer 'DALI CPU' dali_python dali_cpu.py "$shards" "$threads" --torch ;;
    ffcv) peer FFCV ffcv_python ffcv_loader.py "$photos" "$cache/photos-$records.beton" "$threads" "$records" ;;
    tf) peer tf.data tensorflow_python tf_data_local.py "$shards" "$threads" ;;
    tfservice) peer 'tf.data service' tensorflow_python tf_data_service.py serve --shards "$shards" ;;
    spdl) peer SPDL spdl_python spdl_loader.py "$photos" "$threads" "$records" ;;
    grain) peer Grain grain_python grain_loader.py "$photos" "$threads" "$records" ;;
    *) die "--only takes torch, dali, ffcv, tf, tfservice, spdl and grain" ;;
  esac
done

standard_job peers "$shards" "$batch" >"$work/job.textproto"
start_daemon "$shards"
"$bin/penstock" submit "$work/job.textproto" >"$work/submit.log" 2>&1 || { cat "$work/submit.log" >&2; die "penstock submit failed"; }
numpy=$(environment chart matplotlib matplotlib)
echo "$records records, batches of $batch, $threads threads, up to $turns turns"
"$numpy" "$here/python_loop_table.py" --turns "$turns" --minutes "$minutes" --daemon "$daemon" --out "$out/python_loop.json" \
  --local "$numpy $here/penstock_loop.py $work/job.textproto" \
  --local-cpp "$bin/penstock bench $work/job.textproto --no-stages --seconds 3 --json" \
  --served "$numpy $here/penstock_loop.py peers" \
  --served-cpp "$bin/penstock read peers --epochs 1 --no-digest --json" \
  "${peers[@]}"
"$numpy" "$here/python_loop_chart.py" "$out/python_loop.json" "$out/python_loop.png"
