#!/usr/bin/env bash
# Installs Debian's libraries and headers for aarch64 in a folder, to build against and to run programs with. Needs root, qemu
# registered with the kernel, mmdebstrap and the network, and uses this machine's package sources.
#   make_root.sh ROOT     ROOT must not exist
set -euo pipefail
root=$1
packages=(libc6-dev libstdc++-12-dev libgrpc++-dev libprotobuf-dev libabsl-dev libssl-dev libcurl4-openssl-dev
  libjpeg-dev libspng-dev libwebp-dev libopencv-core-dev libopencv-imgproc-dev libisal-dev libpugixml-dev
  nlohmann-json3-dev prometheus-cpp-dev libspdlog-dev libsqlite3-dev libhwy-dev libre2-dev zlib1g-dev libzstd-dev libboost-dev
  libsimdjson-dev libxxhash-dev libgtest-dev libgmock-dev ca-certificates)
. /etc/os-release
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $VERSION_CODENAME" | head -n 1)
mkdir -p "$(dirname "$root")"
rm -rf --one-file-system "$root.part"
mmdebstrap --quiet --mode=root --arch=arm64 --variant=essential --include="$(IFS=,; echo "${packages[*]}")" \
  "$VERSION_CODENAME" "$root.part" "$mirror"
# Links to absolute names would lead out of the folder: those of -dev packages, and the choice among BLAS libraries.
for folder in etc/alternatives usr/lib/aarch64-linux-gnu; do
  find "$root.part/$folder" -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfnr "$root.part$(readlink "$link")" "$link"
  done
done
mv "$root.part" "$root"
