#!/usr/bin/env bash
# The chart in a cluster that the tests start: Debian's etcd, and the control plane of Kubernetes, which Go builds once into the cache
# folder. ./run test-kubernetes calls this.
#   run.sh PROGRAMS [PYTEST-ARGUMENT ...]     PROGRAMS: folder of penstock, penstockd and make_demo_dataset
set -euo pipefail
programs=$(readlink -e -- "$1")
shift
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
root=$(readlink -f ../..)
. "$root/deploy/kubernetes/tools.sh"

# A release whose kubelet accepts version 1 of cgroups.
kubernetes=1.34.4

needs etcd etcd-server
needs runc runc
needs ip iproute2
needs nft nftables
needs openssl openssl
needs unshare util-linux
/usr/bin/python3 -c 'import yaml' || { echo "run.sh: install Debian's package python3-yaml" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || { echo "run.sh: the pods are containers: start it as root" >&2; exit 1; }

# build_control_plane FOLDER: the module of Kubernetes names its parts by folders of its repository, and others must name versions.
build_control_plane() {
  local go folder=$1 module stamp=k8s.io/component-base/version
  go=$(new_go)
  rm -rf "$folder"
  mkdir -p "$folder/module"
  (
    cd "$folder/module"
    export GOFLAGS=-mod=mod CGO_ENABLED=0
    module=$("$go" mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/^\t"GoMod": "\(.*\)",*$/\1/p')
    {
      printf 'module penstock.test/kubernetes\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v%s\n\n' "$kubernetes"
      sed -n "s/^\t\(k8s.io\/[a-z-]*\) => .*/replace \1 => \1 v0.${kubernetes#1.}/p" "$module"
    } >go.mod
    "$go" build -o "$folder/" -ldflags "-s -w -X $stamp.gitVersion=v$kubernetes -X $stamp.gitMajor=1 -X $stamp.gitMinor=34" \
      k8s.io/kubernetes/cmd/kube-{apiserver,controller-manager,scheduler,proxy}
  )
  rm -rf "$folder/module"
  remove_new_go
  touch "$folder/complete"
}

PENSTOCK_KUBERNETES=$home/control-plane-$kubernetes
if [ ! -e "$PENSTOCK_KUBERNETES/complete" ]; then
  echo "Building Kubernetes $kubernetes in $PENSTOCK_KUBERNETES"
  build_control_plane "$PENSTOCK_KUBERNETES"
fi
install_helm

# The folder of the image, where the pods' user may read it.
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
chmod 755 "$work"
PYTHONPATH=$root/client/python/wheel /usr/bin/python3 -B "$root/deploy/image/make_root.py" "$programs" "$work/image"
mkdir "$work/image/var/lib/penstock"

export PENSTOCK_KUBERNETES PENSTOCK_BIN=$programs PENSTOCK_IMAGE_ROOT=$work/image
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/deploy/image
# Networks, mounts and processes of the tests end with them.
unshare --net --mount --pid --fork --kill-child --mount-proc -- bash -c \
  'ip link set lo up && mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && exec /usr/bin/python3 -m pytest -q -p no:cacheprovider "$@"' \
  _ "$@"
