#!/usr/bin/env bash
# Checks the packages on a bare Debian that systemd boots in a container: installation, a batch, an upgrade under a reading
# trainer, removal and purge (check_inside.sh). Needs root, debootstrap and systemd-nspawn. The container uses this machine's
# network, with its package sources. The bare Debian is made once, and kept in the cache folder.
#   check.sh BUILD_DIR DIST_DIR
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
build_dir=$(readlink -e "$1") dist_dir=$(readlink -e "$2")
die() { echo "check.sh: $*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || die "this user may not make a container; run it as root"

. /etc/os-release
base=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/debian/$VERSION_CODENAME.tar
if [ ! -e "$base" ]; then
  mkdir -p "$(dirname "$base")"
  made=$(mktemp -d)
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $VERSION_CODENAME" | head -n 1)
  debootstrap --variant=minbase --include=ca-certificates,systemd-sysv "$VERSION_CODENAME" "$made" "$mirror" >"$base.log" ||
    die "no bare Debian could be made; see $base.log"
  tar -C "$made" -cf "$base.part" .
  mv "$base.part" "$base"
  rm -rf --one-file-system "$made"
fi

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
tar -C "$root" -xf "$base"
chmod 755 "$root"
rm -rf "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d
cp -a /etc/apt/sources.list* "$root/etc/apt/"
cp -a /usr/share/keyrings/. "$root/usr/share/keyrings/"
cp -aL --remove-destination /etc/ssl/certs/. "$root/etc/ssl/certs/"  # not through links to this machine's files
cp -L --remove-destination /etc/resolv.conf /etc/hosts "$root/etc/"

# The packages, an earlier build of the same sources, records, and the example of a trainer.
new=$(dpkg-deb -f "$dist_dir"/penstock_*.deb Version)
mkdir -p "$root/check/new" "$root/check/earlier" "$root/srv"
cp "$dist_dir"/{penstock,libpenstock-dev}_"$new"_*.deb "$root/check/new"
"$here/build.sh" "$build_dir" "$root/check/earlier" "$new~earlier" >/dev/null
cp -r "$here/../../client/examples" "$root/check/examples"
cp "$here/check_inside.sh" "$root/check"
"$build_dir/bin/make_demo_dataset" "$root/srv/data" 600 4 >/dev/null
cat >"$root/etc/systemd/system/check.service" <<'END'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
PassEnvironment=http_proxy https_proxy
ExecStart=/bin/sh -c '/check/check_inside.sh >/check/log 2>&1; echo $? >/check/result; systemctl poweroff'
END
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../check.service "$root/etc/systemd/system/multi-user.target.wants/check.service"

proxies=()
for variable in http_proxy https_proxy; do
  [ -z "${!variable:-}" ] || proxies+=("--setenv=$variable=${!variable}")
done
timeout 1800 systemd-nspawn -q -D "$root" --register=no --keep-unit --console=pipe --boot "${proxies[@]}" \
  </dev/null >"$root/check/console" 2>&1 || true
cat "$root/check/log" 2>/dev/null || cat "$root/check/console"
[ "$(cat "$root/check/result" 2>/dev/null)" = 0 ] || die "the packages are not right (above)"
