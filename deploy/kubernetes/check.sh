#!/usr/bin/env bash
# Checks the chart: helm lint and helm template on each example, kubernetes-validate for each release of Kubernetes from 1.28 on, and
# the tests in tests/. Installs helm, pinned, by Go, and the Python packages of requirements.txt once into the cache folder.
#   check.sh [PYTEST-ARGUMENT ...]
#   PENSTOCK_BIN=DIR   penstockd and penstock, which then check the command lines too (build/release/bin)
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

helm_version=v3.22.0
# Compiles helm if the system's Go is too old to fetch another one (before 1.21), as Debian 12's is.
go_version=go1.26.8

# needs COMMAND PACKAGE
needs() {
  command -v "$1" >/dev/null || { echo "check.sh: $1 is missing; install Debian's package $2" >&2; exit 1; }
}

home=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/kubernetes
environment=$home/$(sha256sum <requirements.txt | cut -c1-16)
if [ ! -e "$environment/complete" ]; then
  needs python3 python3-venv
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" install -q --disable-pip-version-check -r requirements.txt
  touch "$environment/complete"
fi

# Prints a Go that can compile helm. An older Go gets the newer one as a module, whose programs are not executable.
new_go() {
  needs go golang-go
  case $(go env GOVERSION) in
    go1.[0-9] | go1.[0-9].* | go1.1[0-9]* | go1.20*) ;;
    *) command -v go && return ;;
  esac
  local module folder=$home/$go_version
  if [ ! -e "$folder/complete" ]; then
    module=golang.org/toolchain@v0.0.1-$go_version.$(go env GOOS)-$(go env GOARCH)
    GOFLAGS='' go mod download "$module" >&2
    rm -rf "$folder"
    cp -r "$(go env GOMODCACHE)/$module" "$folder"
    chmod -R u+w "$folder"
    chmod -R u+x "$folder/bin" "$folder/pkg/tool"
    touch "$folder/complete"
  fi
  echo "$folder/bin/go"
}

PENSTOCK_HELM=$home/helm-$helm_version/helm
if [ ! -x "$PENSTOCK_HELM" ]; then
  go=$(new_go)
  GOBIN=${PENSTOCK_HELM%/*} "$go" install "helm.sh/helm/v3/cmd/helm@$helm_version"
  rm -rf "${home:?}/$go_version"
fi

export PENSTOCK_HELM PYTHONDONTWRITEBYTECODE=1
exec "$environment/bin/python" -m pytest -q -p no:cacheprovider "$@"
