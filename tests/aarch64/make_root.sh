#!/usr/bin/env bash
# Makes a folder with Debian's libraries and headers for aarch64, to build against and to run programs with. No program of the
# folder runs. Needs mmdebstrap and the network, and uses this machine's package sources.
#   make_root.sh ROOT     ROOT must not exist
set -euo pipefail
root=$1
packages=(libc6-dev libstdc++-12-dev libgrpc++-dev libprotobuf-dev libabsl-dev libssl-dev libcurl4-openssl-dev
  libjpeg-dev libspng-dev libwebp-dev libopencv-core-dev libopencv-imgproc-dev libisal-dev libpugixml-dev
  nlohmann-json3-dev prometheus-cpp-dev libspdlog-dev libsqlite3-dev libhwy-dev zlib1g-dev libzstd-dev libboost-dev
  libxxhash-dev libgtest-dev libgmock-dev)
. /etc/os-release
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $VERSION_CODENAME" | head -n 1)
mkdir -p "$(dirname "$root")"
rm -rf --one-file-system "$root.part"
mmdebstrap --quiet --mode=root --arch=arm64 --variant=extract --include="$(IFS=,; echo "${packages[*]}")" \
  "$VERSION_CODENAME" "$root.part" "$mirror"
# The packages' scripts, which do not run, would make these links.
for library in blas lapack; do
  ln -s "$library/lib$library.so.3" "$root.part/usr/lib/aarch64-linux-gnu/lib$library.so.3"
done
mv "$root.part" "$root"
