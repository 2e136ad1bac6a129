#!/usr/bin/env bash
# Builds the programs and the unit tests for aarch64, runs the tests by qemu-user, and then serves an epoch with a worker of each
# architecture (served_epoch.sh). ./run test-aarch64 calls this.
#   run.sh PROGRAMS [CTEST-ARGUMENT ...]     PROGRAMS: folder of penstock, penstockd and make_demo_dataset for this machine
set -euo pipefail
programs=$(readlink -e -- "$1")
shift
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cd "$here/../.."
. deploy/aarch64/environment.sh

cmake --preset aarch64 >/dev/null
cmake --build --preset aarch64 --target penstockd penstock unit_tests -- ${PENSTOCK_JOBS:+-j "$PENSTOCK_JOBS"}
ctest --preset aarch64 --parallel "$(nproc)" "$@"
"$here/served_epoch.sh" "$programs" "$PWD/build/aarch64/bin"
