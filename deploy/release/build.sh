#!/usr/bin/env bash
# Completes the wheel, the packages and the image in DIST_DIR to a release: adds the chart, the source, an SBOM for each, and
# SHA256SUMS with its signature. Without KEY the sums have no signature.
#   build.sh BUILD_DIR DIST_DIR [KEY]      KEY is a private key of ssh-keygen
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
source_dir=$(readlink -f "$here/../..")
build_dir=$(readlink -e "$1") dist_dir=$(readlink -e "$2") key=${3:-}
die() { echo "build.sh: $*" >&2; exit 1; }
cd "$dist_dir"
version=$("$source_dir/deploy/version.sh" "$build_dir")
name=penstock-${version//\~/-}

# As in Debian's packages: the time of the commit, no owners, and no name or time in gzip's header.
time=$(git -C "$source_dir" log -1 --format=%ct)
git -C "$source_dir" archive --format tar --prefix "$name/" HEAD | gzip -9n >"$name.tar.gz"
chart=$(sed -n 's/^version: *//p' "$source_dir/deploy/kubernetes/penstock/Chart.yaml")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$source_dir" archive HEAD deploy/kubernetes/penstock | tar -x -C "$work"
tar --create --directory "$work/deploy/kubernetes" --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner \
  --mode=u=rwX,go=rX penstock | gzip -9n >"penstock-chart-$chart.tgz"

PYTHONPATH=$source_dir/client/python/wheel python3 -B "$here/sbom.py" "$version" "$build_dir" \
  "$(echo penstock-*.whl):shared,compiled" "$(echo penstock_*.deb):compiled" "$(echo libpenstock-dev_*.deb):compiled" \
  "$(echo penstock-*.oci.tar):shared,compiled,certificates" "penstock-chart-$chart.tgz" "$name.tar.gz"

LC_ALL=C sha256sum -- *.whl *.deb *.oci.tar *.tgz *.tar.gz *.cdx.json >SHA256SUMS
if [ -n "$key" ]; then
  ssh-keygen -q -Y sign -f "$key" -n penstock-release SHA256SUMS || die "$key cannot sign SHA256SUMS (above)"
fi
ls
