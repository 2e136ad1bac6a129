#!/usr/bin/env bash
# Builds the release of the present commit a second time, in a clone in another folder, and compares all files with DIST_DIR.
#   reproduce.sh DIST_DIR
# The compiler cache makes this quick. CCACHE_DISABLE=1 compiles everything again.
set -euo pipefail
source_dir=$(readlink -f "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../..")
dist_dir=$(readlink -e "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet --no-checkout "$source_dir" "$work/another-folder"
git -C "$work/another-folder" checkout --quiet "$(git -C "$source_dir" rev-parse HEAD)"
architectures=()
! compgen -G "$dist_dir/*_arm64.deb" >/dev/null || architectures=(--aarch64)
"$work/another-folder/run" release "${architectures[@]}" --unsigned >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }
diff "$dist_dir/SHA256SUMS" "$work/another-folder/dist/SHA256SUMS" ||
  { echo "reproduce.sh: the two builds differ in the files above" >&2; exit 1; }
echo "$(wc -l <"$dist_dir/SHA256SUMS") files of the two builds have the same bytes"
