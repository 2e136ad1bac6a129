#!/usr/bin/env bash
# Completes the wheels, the packages and the images in DIST_DIR to a release: adds the chart, the source, an SBOM for each, and
# SHA256SUMS with its signature.
#   build.sh DIST_DIR KEY BUILD_DIR ...     build/aarch64 is that of aarch64; KEY is a private key of ssh-keygen, or "": no signature
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
source_dir=$(readlink -f "$here/../..")
dist_dir=$(readlink -e "$1") key=$2
shift 2
builds=()
for build in "$@"; do builds+=("$(readlink -e "$build")"); done
die() { echo "build.sh: $*" >&2; exit 1; }
cd "$dist_dir"
version=$("$source_dir/deploy/version.sh" "${builds[0]}")
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

sbom() { PYTHONPATH=$source_dir/client/python/wheel python3 -B "$here/sbom.py" "$version" "$@"; }
sbom "${builds[0]}" "penstock-chart-$chart.tgz" "$name.tar.gz"
for build in "${builds[@]}"; do
  (
    machine=$(uname -m)
    if [ "${build##*/}" = aarch64 ]; then . "$source_dir/deploy/aarch64/environment.sh"; machine=aarch64; fi
    architecture=$(dpkg-architecture -t "$machine-linux-gnu" -qDEB_HOST_ARCH 2>/dev/null)
    sbom "$build" "$(echo penstock-*_"$machine".whl):shared,compiled" "$(echo penstock_*_"$architecture".deb):compiled" \
      "$(echo libpenstock-dev_*_"$architecture".deb):compiled" "$(echo penstock-*-"$architecture".oci.tar):shared,compiled,certificates"
  )
done

LC_ALL=C sha256sum -- *.whl *.deb *.oci.tar *.tgz *.tar.gz *.cdx.json >SHA256SUMS
if [ -n "$key" ]; then
  ssh-keygen -q -Y sign -f "$key" -n penstock-release SHA256SUMS || die "$key cannot sign SHA256SUMS (above)"
fi
ls
