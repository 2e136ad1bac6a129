#!/usr/bin/env bash
# Programs and wheels of the previous release and of this tree in one cluster. ./run test-upgrade builds both and calls this.
#   run.sh OLD NEW [PYTEST-ARGUMENT ...]     OLD, NEW: folders with bin/ (programs) and one wheel
set -euo pipefail
old=$(readlink -e -- "$1") new=$(readlink -e -- "$2")
shift 2
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
work=$(mktemp -d)
# Debian's Python has NumPy and pytest (the packages of ./run).
trap 'rm -rf "$work"' EXIT
for side in old new; do
  /usr/bin/python3 -m venv --system-site-packages "$work/$side"
  "$work/$side/bin/pip" install -q --disable-pip-version-check --no-index --no-deps "${!side}"/penstock-*.whl
done
export PENSTOCK_OLD=$old PENSTOCK_OLD_PYTHON=$work/old/bin/python PENSTOCK_NEW=$new PENSTOCK_NEW_PYTHON=$work/new/bin/python
export PYTHONDONTWRITEBYTECODE=1
/usr/bin/python3 -m pytest -q -p no:cacheprovider "$@" .
