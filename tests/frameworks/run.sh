#!/usr/bin/env bash
# The tests that need frameworks from PyPI, ruff and mypy. ./run test-frameworks calls this with the environment's Python.
#   run.sh PYTHON PROGRAMS [FOLDER ...]     FOLDER: torch, tensorflow, jax, data, imports, lint (default: all
#                                           of these), or ray, for which PYTHON must have Ray. PENSTOCK_DATA_PYTHON is
#                                           the Python for data (default: PYTHON)
set -uo pipefail
python=$1 programs=$2
shift 2
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
[ $# -gt 0 ] || set -- lint imports data torch tensorflow jax

export PENSTOCK_BIN=$programs PYTHONDONTWRITEBYTECODE=1
# Hides TensorFlow's messages about processors and graphics cards at each start. No framework may use the network.
export TF_CPP_MIN_LOG_LEVEL=2 CUDA_VISIBLE_DEVICES= HF_HUB_OFFLINE=1

lint() {
  "$python" -m ruff check client/python tests/python tests/frameworks tests/object_storage tests/page examples/python bench tests/slurm tests/kubernetes tests/structure tests/support tests/upgrade tests/judges deploy/compose deploy/image deploy/kubernetes deploy/release &&
    (cd client/python && "$python" -m mypy)
}

# Each folder has its own process, because a framework changes the process that imports it.
failed=()
for folder in "$@"; do
  printf '\n-- %s\n' "$folder"
  start=$SECONDS
  if [ "$folder" = lint ]; then
    lint || failed+=("$folder")
  else
    own=$python
    [ "$folder" != data ] || own=${PENSTOCK_DATA_PYTHON:-$python}
    "$own" -m pytest -q -p no:cacheprovider "tests/frameworks/$folder" || failed+=("$folder")
  fi
  echo "$folder: $((SECONDS - start)) s"
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
