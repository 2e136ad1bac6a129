#!/bin/sh
# Prints the Debian packages of the shared libraries that the programs "$@" load, one per line: what a machine that only
# runs them needs. Asked of the binaries, so that the list cannot go stale.
set -eu
for library in $(ldd "$@" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u); do
  # On merged /usr a library may be recorded under /lib or under /usr/lib.
  real=$(readlink -f "$library")
  dpkg-query -S "$library" "$real" "${real#/usr}" 2>/dev/null | sed -n '1s/:.*//p'
done | sort -u
