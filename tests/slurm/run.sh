#!/usr/bin/env bash
# The batch scripts of deploy/slurm under a real Slurm that the tests start: slurmctld and two slurmd on this host, with a munge
# key, folders and ports of their own. ./run test-slurm calls this.
#   run.sh PROGRAMS [PYTEST-ARGUMENT ...]     PROGRAMS: folder of penstock, penstockd and make_demo_dataset
set -euo pipefail
programs=$(readlink -e -- "$1")
shift
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
for program in slurmctld slurmd sbatch munged openssl; do
  command -v "$program" >/dev/null || {
    echo "test-slurm: $program is missing; install Debian's packages slurmctld slurmd slurm-client munge openssl" >&2
    exit 1
  }
done
[ "$(id -u)" -eq 0 ] || { echo "test-slurm: the jobs belong to two users: start it as root, for example in a container" >&2; exit 1; }
export PENSTOCK_BIN=$programs PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 -m pytest -q -p no:cacheprovider "$@" .
