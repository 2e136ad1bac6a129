#!/usr/bin/env bash
# Prints the version of a build folder's artifacts: that of the project. Between releases, the time and the ID of the commit follow
# it, and such a version precedes the release.
#   version.sh BUILD_DIR
set -euo pipefail
source_dir=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$1/CMakeCache.txt")
if ! grep -q "^## $version - " "$source_dir/CHANGELOG.md"; then
  version+=~git$(date -u -d "@$(git -C "$source_dir" log -1 --format=%ct)" +%Y%m%d%H%M).$(git -C "$source_dir" rev-parse --short=8 HEAD)
fi
echo "$version"
