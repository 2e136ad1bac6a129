#!/usr/bin/env bash
# Builds the programs for aarch64, and adds the wheel, the packages and the image of that architecture to DIST_DIR.
#   pack.sh DIST_DIR
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
dist=$(readlink -e "$1")
. "$here/environment.sh"
cd "$here/../.."
build=$PWD/build/aarch64
cmake --preset aarch64 >/dev/null
cmake --build --preset aarch64 --target programs -- ${PENSTOCK_JOBS:+-j "$PENSTOCK_JOBS"}

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
python3 client/python/wheel/build_wheel.py --version "$version" --programs "$build/bin" --out "$dist"
architecture=$(dpkg-architecture -aarm64 -s 2>/dev/null)
eval "$architecture"
deploy/image/build.sh "$build" "$dist"
# dpkg-shlibdeps looks for the libraries at their places in the system.
mkdir -p /usr/lib/aarch64-linux-gnu
unshare --mount --propagation private bash -c '
  mount --bind "$PENSTOCK_AARCH64_ROOT/usr/lib/aarch64-linux-gnu" /usr/lib/aarch64-linux-gnu && deploy/debian/build.sh "$@"' \
  build.sh "$build" "$dist"
rmdir --ignore-fail-on-non-empty /usr/lib/aarch64-linux-gnu
