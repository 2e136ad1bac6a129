#!/usr/bin/env bash
# A host with trainers only: its configuration does not look for the server's libraries, and asks pkg-config once for
# each library (an answer about gRPC takes half a second). ./run knows the packages that client/README.md names.
#   trainer_host_test.sh SOURCE_DIR
set -euo pipefail
source_dir=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "trainer_host_test: $*" >&2; exit 1; }

cat >"$place/pkg-config" <<END
#!/bin/sh
echo "\$*" >>"$place/asked"
exec pkg-config "\$@"
END
chmod +x "$place/pkg-config"
cmake -G Ninja -S "$source_dir" -B "$place/build" -DPENSTOCK_BUILD_SERVER=OFF -DPENSTOCK_BUILD_TESTS=OFF \
  -DPENSTOCK_BUILD_BENCH=OFF -DPKG_CONFIG_EXECUTABLE="$place/pkg-config" >"$place/log" 2>&1 ||
  { tail "$place/log"; fail "it cannot be configured"; }
[ -s "$place/asked" ] || fail "pkg-config was not asked: this test looks at nothing"
[ -z "$(sort "$place/asked" | uniq -d)" ] || fail "CMake runs pkg-config several times for: $(sort "$place/asked" | uniq -c)"
! grep -qE 'opencv|isal|spdlog|sqlite|jpeg' "$place/asked" || fail "what only the server needs is looked for"
ninja -C "$place/build" -n penstock_client >/dev/null || fail "there is no client library to build"

packages=$(sed -n '/apt-get install/,/[^\\]$/p' "$source_dir/client/README.md" | tr -d '\\' | tr ' ' '\n' |
           grep -vE '^(apt-get|install|--.*)?$')
[ "$(wc -w <<<"$packages")" -gt 5 ] || fail "client/README.md has no line of packages"
known=$(sed -n '/^packages=(/,/^)/p' "$source_dir/run" | tr '() ' '\n')
for package in $packages; do
  grep -qx -- "$package" <<<"$known" || fail "client/README.md names $package, which ./run does not install"
done
echo "a host of trainers is configured with $(wc -l <"$place/asked") questions"
