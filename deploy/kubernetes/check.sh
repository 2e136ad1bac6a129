#!/usr/bin/env bash
# Checks the chart: helm lint and helm template on each example, kubernetes-validate for each release of Kubernetes from 1.28 on, and
# the tests in tests/. Installs helm, pinned, by Go, and the Python packages of requirements.txt once into the cache folder.
#   check.sh [PYTEST-ARGUMENT ...]
#   PENSTOCK_BIN=DIR   penstockd and penstock, which then check the command lines too (build/release/bin)
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

. ./tools.sh

environment=$home/$(sha256sum <requirements.txt | cut -c1-16)
if [ ! -e "$environment/complete" ]; then
  needs python3 python3-venv
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" install -q --disable-pip-version-check -r requirements.txt
  touch "$environment/complete"
fi

install_helm
export PYTHONDONTWRITEBYTECODE=1
exec "$environment/bin/python" -m pytest -q -p no:cacheprovider "$@"
