#!/usr/bin/env bash
# Builds the image as an OCI archive, penstock-VERSION-ARCHITECTURE.oci.tar, with buildah: from nothing, without a registry, and
# without running anything in it. Equal programs and libraries give equal bytes.
#   build.sh BUILD_DIR DIST_DIR
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
source_dir=$(readlink -f "$here/../..")
build_dir=$(readlink -e "$1")
mkdir -p "$2"
dist_dir=$(readlink -e "$2")
die() { echo "build.sh: $*" >&2; exit 1; }
for tool in buildah python3 strip dpkg-architecture git; do
  command -v $tool >/dev/null || die "$tool is missing: apt-get install buildah python3 binutils dpkg-dev git"
done
largest_root=150000000 largest_archive=60000000

time=$(git -C "$source_dir" log -1 --format=%ct)
commit=$(git -C "$source_dir" rev-parse HEAD)
version=$("$source_dir/deploy/version.sh" "$build_dir")
tag=${version//\~/-}
architecture=$(dpkg-architecture -qDEB_HOST_ARCH)
archive=$dist_dir/penstock-$tag-$architecture.oci.tar

# Storage of its own, so that the images of this machine do not matter.
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
builder() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }

PYTHONPATH=$source_dir/client/python/wheel "$here/make_root.py" "$build_dir/bin" "$work/root" || die "no root folder could be made (above)"
size=$(find "$work/root" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
[ "$size" -le $largest_root ] || die "the image has $size bytes, more than $largest_root"

container=$(builder from scratch)
builder copy --quiet --chown 0:0 "$container" "$work/root" / >/dev/null
mkdir "$work/state"
builder copy --quiet --chown 7070:7070 "$container" "$work/state" /var/lib/penstock >/dev/null
# --http: the port of `penstock health`. A later --http in the command overrides it.
builder config --arch "$architecture" --os linux --user 7070:7070 --workingdir / --stop-signal SIGTERM \
  --env PATH=/usr/bin --env STATE_DIRECTORY=/var/lib/penstock --volume /var/lib/penstock --port 7070/tcp --port 7071/tcp \
  --entrypoint '["penstockd", "--http", "127.0.0.1:7072"]' --cmd 'standalone --data-root /data' \
  --label org.opencontainers.image.title=penstock --label org.opencontainers.image.licenses=Apache-2.0 \
  --label "org.opencontainers.image.version=$version" --label "org.opencontainers.image.revision=$commit" \
  --created-by "deploy/image/build.sh" "$container"
builder commit --quiet --format oci --identity-label=false --timestamp "$time" "$container" "penstock:$tag" >/dev/null
builder push --quiet "penstock:$tag" "oci:$work/layout:penstock:$tag"

# buildah's own archives have the time of the day in them.
tar --create --file "$archive.part" --directory "$work/layout" --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner \
  --mode=u=rwX,go=rX --format=ustar .
[ "$(stat -c %s "$archive.part")" -le $largest_archive ] || die "the archive has $(stat -c %s "$archive.part") bytes, more than $largest_archive"
rm -f "$dist_dir"/penstock-*-"$architecture".oci.tar
mv "$archive.part" "$archive"
echo "$archive: $(stat -c %s "$archive") bytes, $size bytes unpacked, penstock:$tag"
