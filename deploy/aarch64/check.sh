#!/usr/bin/env bash
# Checks the files for aarch64 in DIST_DIR by qemu: the commit that the packaged programs print, an epoch with the programs of the
# wheel, and the image (../image/check.py).
#   check.sh BUILD_DIR DIST_DIR     BUILD_DIR has the programs for this machine
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
build=$(readlink -e "$1") dist=$(readlink -e "$2")
. "$here/environment.sh"
(
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  dpkg-deb -x "$dist"/penstock_*_arm64.deb "$work/package"
  expected=$("$build/bin/penstock" --version)
  printed=$("$work/package/usr/bin/penstock" --version)
  [ "$printed" = "$expected" ] || { echo "check.sh: the package's program prints $printed, not $expected" >&2; exit 1; }
  python3 -m zipfile -e "$dist"/penstock-*_aarch64.whl "$work"  # does not restore the modes
  chmod -R u+x "$work/penstock/_programs"
  "$here/../../tests/aarch64/served_epoch.sh" "$build/bin" "$work/penstock/_programs/bin"
)
python3 -B "$here/../image/check.py" "$build" "$dist"/penstock-*-arm64.oci.tar
