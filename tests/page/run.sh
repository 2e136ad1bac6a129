#!/usr/bin/env bash
# The web page in a headless Chromium over a real cluster. Keeps screenshots. ./run test-page calls this with the environment's
# Python.
#   run.sh PYTHON PROGRAMS PICTURES [PYTEST-ARGUMENT ...]     PROGRAMS: folder of penstock, penstockd and make_demo_dataset
set -euo pipefail
python=$1 programs=$2 pictures=$3
shift 3
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
command -v chromium >/dev/null || { echo "test-page needs a browser; install Debian's package chromium" >&2; exit 1; }
mkdir -p "$pictures"
PENSTOCK_CHROMIUM=$(command -v chromium)
export PENSTOCK_BIN=$programs PENSTOCK_PICTURES=$pictures PENSTOCK_CHROMIUM PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -q -p no:cacheprovider "$@" .
