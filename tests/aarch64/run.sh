#!/usr/bin/env bash
# Builds the programs and the unit tests for aarch64, runs the tests by qemu-user, and then serves an epoch with a worker of each
# architecture (served_epoch.sh). ./run test-aarch64 calls this.
#   run.sh PROGRAMS [CTEST-ARGUMENT ...]     PROGRAMS: folder of penstock, penstockd and make_demo_dataset for this machine
set -euo pipefail
programs=$(readlink -e -- "$1")
shift
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cd "$here/../.."
[ "$(id -u)" -eq 0 ] || { echo "test-aarch64: the kernel starts programs of another architecture only if root registers qemu" >&2; exit 1; }

# The folder's name changes with the list of packages.
. /etc/os-release
PENSTOCK_AARCH64_ROOT=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/aarch64/$VERSION_CODENAME-$(sha256sum "$here/make_root.sh" | cut -c 1-16)
export PENSTOCK_AARCH64_ROOT
[ -d "$PENSTOCK_AARCH64_ROOT" ] || "$here/make_root.sh" "$PENSTOCK_AARCH64_ROOT"

handlers=/proc/sys/fs/binfmt_misc
[ -e $handlers/register ] || mount -t binfmt_misc binfmt_misc $handlers
if [ ! -e $handlers/qemu-aarch64 ]; then
  cat /usr/lib/binfmt.d/qemu-aarch64.conf >$handlers/register
  trap 'echo -1 >'$handlers/qemu-aarch64 EXIT
fi
export QEMU_LD_PREFIX=$PENSTOCK_AARCH64_ROOT

cmake --preset aarch64 >/dev/null
cmake --build --preset aarch64 --target penstockd penstock unit_tests -- ${PENSTOCK_JOBS:+-j "$PENSTOCK_JOBS"}
ctest --preset aarch64 --parallel "$(nproc)" "$@"
"$here/served_epoch.sh" "$programs" "$PWD/build/aarch64/bin"
