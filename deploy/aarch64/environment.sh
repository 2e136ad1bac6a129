# Sourced by scripts that build for aarch64 or run such programs. As root: makes the folder PENSTOCK_AARCH64_ROOT with Debian's packages
# in the cache folder, once, and lets the kernel start programs of aarch64 by qemu until the script ends.
[ "$(id -u)" -eq 0 ] || { echo "aarch64: the kernel starts programs of another architecture only if root registers qemu" >&2; exit 1; }
binfmt=/proc/sys/fs/binfmt_misc
[ -e $binfmt/register ] || mount -t binfmt_misc binfmt_misc $binfmt
if [ ! -e $binfmt/qemu-aarch64 ]; then
  cat /usr/lib/binfmt.d/qemu-aarch64.conf >$binfmt/register
  trap 'echo -1 >'$binfmt/qemu-aarch64 EXIT
fi

# The folder's name changes with the list of packages.
make_aarch64_root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/make_root.sh
. /etc/os-release
PENSTOCK_AARCH64_ROOT=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/aarch64/$VERSION_CODENAME-$(sha256sum "$make_aarch64_root" | cut -c 1-16)
[ -d "$PENSTOCK_AARCH64_ROOT" ] || "$make_aarch64_root" "$PENSTOCK_AARCH64_ROOT"
export PENSTOCK_AARCH64_ROOT QEMU_LD_PREFIX=$PENSTOCK_AARCH64_ROOT
