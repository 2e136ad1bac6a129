#!/bin/sh
# Prints the Debian packages of the shared libraries that the programs "$@" load, one per line. A machine that only runs the
# programs needs these packages. The list comes from the binaries, so it cannot become outdated.
set -eu
for library in $(ldd "$@" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u); do
  # On merged /usr a library may be recorded under /lib or under /usr/lib.
  real=$(readlink -f "$library")
  dpkg-query -S "$library" "$real" "${real#/usr}" 2>/dev/null | sed -n '1s/:.*//p'
done | sort -u
