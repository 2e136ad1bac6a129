# shellcheck shell=bash
# The tools from Go's proxy that this folder's checks and tests/kubernetes need, pinned. They are installed once in $home, a cache
# folder. Source this file.

helm_version=v3.22.0
# Compiles if the system's Go is too old to fetch another one (before 1.21), as Debian 12's is.
go_version=go1.26.8
home=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/kubernetes

# needs COMMAND PACKAGE
needs() {
  command -v "$1" >/dev/null || { echo "${0##*/}: $1 is missing; install Debian's package $2" >&2; exit 1; }
}

# Prints a Go that can compile them. An older Go gets the newer one as a module, whose programs are not executable.
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

# Deletes the Go of new_go.
remove_new_go() { rm -rf "${home:?}/$go_version"; }

# Sets PENSTOCK_HELM.
install_helm() {
  export PENSTOCK_HELM=$home/helm-$helm_version/helm
  if [ ! -x "$PENSTOCK_HELM" ]; then
    local go
    go=$(new_go)
    GOBIN=${PENSTOCK_HELM%/*} "$go" install "helm.sh/helm/v3/cmd/helm@$helm_version"
    remove_new_go
  fi
}
