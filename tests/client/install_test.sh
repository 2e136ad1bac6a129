#!/usr/bin/env bash
# The installed client package suffices for an external program: builds client/examples with find_package(Penstock), and links
# them with pkg-config.
#   install_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$1 build_dir=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "install_test: $*" >&2; exit 1; }

cmake --install "$build_dir" --component penstock_client --prefix "$place/prefix" >"$place/install.log" ||
  { cat "$place/install.log"; fail "cmake --install failed"; }
for header in client.h batch.h element_type.h allocator.h stats.h; do
  [ -f "$place/prefix/include/penstock/$header" ] || fail "$header is not installed"
done
! grep -rq "$source_dir" "$place/prefix" --include='*.cmake' --include='*.h' ||
  fail "the package names the source tree: $(grep -rl "$source_dir" "$place/prefix" --include='*.cmake' --include='*.h')"

# Builds a copy of the example, so that it finds no other file of the tree.
cp -r "$source_dir/client/examples" "$place/examples"
cmake -G Ninja -S "$place/examples" -B "$place/build" -DCMAKE_PREFIX_PATH="$place/prefix" -DCMAKE_BUILD_TYPE=Release \
  >"$place/configure.log" 2>&1 || { cat "$place/configure.log"; fail "an outsider cannot find_package(Penstock)"; }
cmake --build "$place/build" >"$place/build.log" 2>&1 || { cat "$place/build.log"; fail "an outsider cannot build"; }

# pkg-config names all libraries that the trainer needs.
export PKG_CONFIG_PATH=$(dirname "$(find "$place/prefix" -name penstock.pc)")
c++ -o "$place/trainer" "$place"/build/CMakeFiles/trainer.dir/*.o $(pkg-config --libs penstock) 2>"$place/link.log" ||
  { tail "$place/link.log"; fail "an outsider cannot link with pkg-config"; }
"$place/trainer" --help >/dev/null || fail "the trainer that pkg-config linked does not start"

"$place/build/trainer" --help | grep -q -- --coordinator || fail "the trainer has no help"
! "$place/build/trainer" --job none --coordinator "not an address:" 2>"$place/error" || fail "the trainer accepts a bad address"
grep -q "HOST:PORT" "$place/error" || fail "the error of a bad address: $(cat "$place/error")"
echo "an outsider's trainer builds and runs"
