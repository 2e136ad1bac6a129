#!/usr/bin/env bash
# Packs a build folder as penstock_*.deb and libpenstock-dev_*.deb, and checks them with lintian.
#   build.sh BUILD_DIR DIST_DIR [VERSION]
# Without VERSION, it is what ../version.sh prints.
set -euo pipefail
source_dir=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../..
build_dir=$(readlink -e "$1")
mkdir -p "$2"
dist_dir=$(readlink -e "$2")

commit_time=$(git -C "$source_dir" log -1 --format=%ct)
version=${3:-$("$source_dir/deploy/version.sh" "$build_dir")}

stage=$build_dir/debian
log=$build_dir/debian.log
rm -rf "$stage"
mkdir -p "$stage"
cp -r "$source_dir/deploy/debian" "$stage/debian"
cat >"$stage/debian/changelog" <<END
penstock ($version) unstable; urgency=medium

  * /usr/share/doc/penstock/CHANGELOG.md lists the changes.

 -- $(sed -n 's/^Maintainer: //p' "$stage/debian/control")  $(date -u -R -d "@$commit_time")
END

export PENSTOCK_BUILD=$build_dir PENSTOCK_DIST=$dist_dir SOURCE_DATE_EPOCH=$commit_time
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-} noautodbgsym"
architecture=$(dpkg-architecture -qDEB_HOST_ARCH)
rm -f "$dist_dir"/{penstock,libpenstock-dev}_*_"$architecture".deb
(cd "$stage" && debian/rules binary) >"$log" 2>&1 ||
  { tail -n 30 "$log" >&2; echo "build.sh: the whole output is in $log" >&2; exit 1; }
packages=("$dist_dir"/{penstock,libpenstock-dev}_"$version"_"$architecture".deb)
lintian --allow-root --fail-on error,warning --display-info "${packages[@]}"
printf '%s\n' "${packages[@]}"
