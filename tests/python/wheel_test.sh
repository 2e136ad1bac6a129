#!/usr/bin/env bash
# Checks the wheel's promises on this machine: pip installs it, its commands run with any library paths in the
# environment, and its programs need only a kernel.
#   wheel_test.sh WHEEL
# ./run wheel --check, which .ci/run calls, starts this. For an older or newer system, copy the wheel, this file and
# wheel_python.py there. They need python3-venv, and NumPy or a package index.
set -euo pipefail
wheel=$(readlink -e -- "$1")
place=$(mktemp -d)
daemon=
finish() {
  [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
  rm -rf "$place"
}
trap finish EXIT
fail() { echo "wheel_test: $*" >&2; exit 1; }
promise() { echo "- $*"; }

promise "it has at most 60 MB"
[ "$(stat -c %s "$wheel")" -le 60000000 ] || fail "$(stat -c %s "$wheel") bytes"

promise "pip installs it, and its commands run"
# The programs need no NumPy, so pip does not contact the package index.
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
bin=$place/venv/bin
version=$(basename "$wheel" | cut -d- -f2)
for program in penstock penstockd; do
  [[ "$("$bin/$program" --version)" == "$program $version (commit "*")" ]] || fail "$program --version: $("$bin/$program" --version)"
done

promise "it has the examples, the .proto files and a project URL"
package=$(echo "$place"/venv/lib/python3*/site-packages/penstock)
for file in examples/python/pytorch.py examples/python/README.md examples/own_op/vignette.cc proto/penstock/v1/job.proto; do
  [ -s "$package/$file" ] || fail "$package/$file is not there"
done
grep -q '^Project-URL: Homepage, https://' "$package"-*.dist-info/METADATA || fail "METADATA has no project URL"

promise "LD_LIBRARY_PATH and LD_PRELOAD do not matter"
programs=$(echo "$place"/venv/lib/python3*/site-packages/penstock/_programs)
mkdir "$place/strange"
for library in "$programs"/lib/*; do echo "no library" >"$place/strange/$(basename "$library")"; done
# These variables are for the wheel's programs only, not for Python.
LD_LIBRARY_PATH=$place/strange LD_PRELOAD=$place/strange/libc.so.6 "$programs/bin/penstock" --version >"$place/out" 2>&1 ||
  fail "$(cat "$place/out")"

promise "a symbolic link to a program is the program"
ln -s "$programs/bin/penstock" "$place/link"
[[ "$("$place/link" --version)" == "penstock $version (commit "*")" ]] || fail "by a link: $("$place/link" --version 2>&1)"

promise "every library that is loaded is the wheel's"
strange=$("$programs/loader/penstock" --inhibit-cache --library-path "$programs/lib" --list "$programs/libexec/penstock" |
  grep -v -e "$programs" -e linux-vdso || true)
[ -z "$strange" ] || fail "from elsewhere: $strange"

promise "in a root folder with nothing else the programs run and resolve names"
mkdir -p "$place/root/etc" "$place/root/tmp"
cp -r "$programs" "$place/root/programs"
echo "127.0.0.1 coordinator.test" >"$place/root/etc/hosts"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(unshare --map-root-user)
if "${as_root[@]}" chroot "$place/root" /programs/bin/penstock --version >"$place/out" 2>&1; then
  for resolver in ares native; do
    if "${as_root[@]}" env GRPC_DNS_RESOLVER=$resolver chroot "$place/root" \
        /programs/bin/penstock status --coordinator coordinator.test:1 >"$place/out" 2>&1; then
      fail "a process listens on port 1"
    fi
    grep -q "127.0.0.1:1: .*Connection refused" "$place/out" || fail "$resolver: $(cat "$place/out")"
  done
elif "${as_root[@]}" true 2>/dev/null; then
  fail "$(cat "$place/out")"
else
  echo "  (not tried: this user may not change the root folder)"
fi

promise "from arrays to batches: import, init, bench, a daemon, submit, read"
python3 - "$place" <<'END'
import struct
import sys

def save(name, dtype, shape, data):
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(name, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)

rows = 300
save(sys.argv[1] + "/rows.npy", "|u1", (rows, 8, 8, 3), bytes(i % 251 for i in range(rows * 192)))
save(sys.argv[1] + "/labels.npy", "<i8", (rows,), struct.pack(f"<{rows}q", *range(rows)))
END
export XDG_CACHE_HOME=$place/cache
step() { "$bin/penstock" "$@" >"$place/out" 2>&1 || fail "penstock $*: $(cat "$place/out")"; }
step import "$place/rows.npy" --labels "$place/labels.npy" --out "$place/data"
step verify "$place/data/*.tfrecord"
step init "$place/data/*.tfrecord" --out "$place/made.textproto"
step check-config "$place/made.textproto"
step bench "$place/data/job.textproto" --seconds 1 --no-stages
"$bin/penstockd" standalone --data-root "$place/data" --state-dir "$place/state" --listen 127.0.0.1:0 \
  --port-file "$place/port" >"$place/daemon.log" 2>&1 &
daemon=$!
for _ in $(seq 300); do
  [ ! -s "$place/port" ] || break
  kill -0 "$daemon" 2>/dev/null || fail "the daemon ended: $(cat "$place/daemon.log")"
  sleep 0.1
done
[ -s "$place/port" ] || fail "the daemon does not listen: $(cat "$place/daemon.log")"
export PENSTOCK_COORDINATOR=localhost:$(cat "$place/port")
[ "$(cat "/proc/$daemon/comm")" = penstockd ] || fail "the daemon is called $(cat "/proc/$daemon/comm")"
step submit "$place/data/job.textproto"
name=$(sed -n 's/^name: "\(.*\)"/\1/p' "$place/data/job.textproto")
step read "$name" --epochs 1

promise "from Python: batches here and from the daemon, the same; shards, init, preview"
if "$bin/python" -c 'import numpy' 2>/dev/null ||
   "$bin/pip" install --quiet --disable-pip-version-check numpy >"$place/out" 2>&1; then
  "$bin/python" "$(dirname "$(readlink -f "$0")")/wheel_python.py" "$place" "$name" >"$place/out" 2>&1 ||
    fail "$(cat "$place/out")"
  sed 's/^/  /' "$place/out"
else
  [ -z "${CI:-}" ] || fail "NumPy cannot be installed: $(cat "$place/out")"
  echo "  (not tried: NumPy cannot be installed here)"
fi
echo "the wheel is right"
