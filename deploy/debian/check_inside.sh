#!/usr/bin/env bash
# Runs in the container of check.sh, as root, with systemd. /check/earlier and /check/new have the packages, /srv/data the records.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive HOME=/root LC_ALL=C.UTF-8
say() { printf '== %4d s  %s\n' "$SECONDS" "$*"; }
fail() { echo "FAILED: $*" >&2; journalctl -u 'penstock-*' --no-pager -n 20 >&2; exit 1; }
apt() { apt-get -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/check/apt.log 2>&1 || { tail /check/apt.log; fail "apt-get $*"; }; }
as() { runuser -u "$1" -- env "PENSTOCK_TOKEN_FILE=/home/$1/token" "${@:2}"; }
# Prints a field of a JSON object on one line: field NAME FILE
field() { sed -nE "s/.*\"$1\": ?\"?([^\",}]*).*/\1/p" "$2"; }
# The files outside of those that apt, dpkg and the system itself write, and the accounts.
listing() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /check -o -path /root -o -path /var/cache/apt \
    -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache/debconf -o -path /var/cache/ldconfig \
    -o -path /run -o -path /var/tmp -o -path /var/lib/systemd/timers \) -prune -o -printf '%y %m %u %g %p\n' | sort
  find /run -path '*penstock*'
  cat /etc/passwd /etc/group /etc/shadow /etc/gshadow
}

# systemd-nspawn gives the container a boot id of its own, but its services with ProtectProc= see that of the machine. Clients
# and workers with different boot ids count as different hosts.
umount /proc/sys/kernel/random/boot_id

apt update
apt satisfy "$(dpkg-deb -f /check/new/penstock_*.deb Depends), $(dpkg-deb -f /check/new/libpenstock-dev_*.deb Depends)"
apt install cmake ninja-build g++
useradd --create-home alice
useradd --create-home bob
touch /etc/{passwd,group,shadow,gshadow}-
listing >/check/before
say "bare system with the dependencies"

installed=$SECONDS
apt install /check/earlier/penstock_*.deb /check/earlier/libpenstock-dev_*.deb
say "installed $(dpkg-query -W -f '${Version}' penstock)"
getent passwd penstock >/dev/null && getent group penstock >/dev/null || fail "there is no user or group penstock"
for role in coordinator worker standalone; do
  ! systemctl is-enabled -q "penstock-$role" || fail "the installation enables penstock-$role"
  ! systemctl is-active -q "penstock-$role" || fail "the installation starts penstock-$role"
done
for name in alice bob; do
  penstock token "$name" --role operator --file /etc/penstock/tokens >"/home/$name/token" 2>/check/token.err ||
    fail "penstock token: $(cat /check/token.err)"
  chown "$name" "/home/$name/token"
done
chown root:penstock /etc/penstock/tokens
chmod 640 /etc/penstock/tokens
sed -i 's/^# tokens:/tokens:/' /etc/penstock/standalone.textproto
systemctl enable -q --now penstock-standalone || fail "penstock-standalone does not start"
usermod -aG penstock alice
cd /home/alice
as alice penstock init /srv/data --name demo --out job.textproto >/dev/null
sed -i 's/^batch { size: [0-9]*/batch { size: 32/' job.textproto
as alice penstock submit job.textproto >/dev/null
as alice penstock read demo --steps 1 --json >/check/first.json
[ "$(field steps /check/first.json)" = 1 ] || fail "no batch: $(cat /check/first.json)"
[ $((SECONDS - installed)) -le 60 ] || fail "the first batch came after $((SECONDS - installed)) s"
say "the first batch: $((SECONDS - installed)) s after the beginning of the installation"

as alice penstock read demo --epochs 4 --json >/check/alice.json
[ "$(field shared_memory_bytes /check/alice.json)" -gt 0 ] || fail "a member of the group penstock does not get rows through the socket"
as bob penstock read demo --epochs 4 --json >/check/bob.json 2>/check/bob.err
[ "$(field shared_memory_bytes /check/bob.json)" = 0 ] || fail "another user gets rows through the socket"
[ "$(field digest /check/alice.json)" = "$(field digest /check/bob.json)" ] || fail "the digests of two users differ"
say "socket: a member of the group uses it, another user does not; digest $(field digest /check/alice.json)"

echo '# changed by the administrator' >>/etc/penstock/worker.textproto
as alice penstock read demo --epochs 4 --pace 1000 --json >/check/upgraded.json 2>/check/upgraded.err &
reader=$!
sleep 3
before=$(systemctl show -P MainPID penstock-standalone)
apt install /check/new/penstock_*.deb /check/new/libpenstock-dev_*.deb
kill -0 "$reader" 2>/dev/null || fail "the trainer ended before the end of the upgrade"
[ "$(systemctl show -P MainPID penstock-standalone)" != "$before" ] || fail "the upgrade did not restart the service"
systemctl is-active -q penstock-standalone || fail "the service does not run after the upgrade"
say "upgraded to $(dpkg-query -W -f '${Version}' penstock) under a reading trainer"
wait "$reader" || fail "the trainer failed: $(cat /check/upgraded.err)"
[ "$(field digest /check/upgraded.json)" = "$(field digest /check/alice.json)" ] || fail "the digest changed: $(cat /check/upgraded.json)"
say "the trainer of the upgrade has the same digest, $(field digest /check/upgraded.json)"
tail -n 1 /etc/penstock/worker.textproto | grep -q administrator || fail "the upgrade replaced a changed configuration"

cmake -G Ninja -S /check/examples -B /check/cmake >/check/cmake.log && cmake --build /check/cmake >>/check/cmake.log ||
  { tail -n 20 /check/cmake.log; fail "find_package(Penstock)"; }
g++ -std=c++20 -o /check/trainer /check/examples/{trainer,softmax_model}.cc $(pkg-config --cflags --libs penstock) ||
  fail "pkg-config penstock"
for trainer in /check/cmake/trainer /check/trainer; do
  as alice "$trainer" --job demo --epochs 1 >/check/trainer.log 2>&1 || { cat /check/trainer.log; fail "$trainer"; }
done
say "the example of a trainer builds by CMake and by pkg-config, and reads"

dpkg --remove penstock libpenstock-dev >/check/remove.log 2>&1 || fail "dpkg --remove: $(cat /check/remove.log)"
! pgrep -x penstockd >/dev/null || fail "a daemon runs after the removal"
for role in coordinator worker standalone; do
  [ -f "/etc/penstock/$role.textproto" ] || fail "the removal deletes $role.textproto"
done
[ -d /var/lib/penstock/standalone ] || fail "the removal deletes the state"
say "removed; the configuration and the state are still there"

dpkg --purge penstock libpenstock-dev >/check/purge.log 2>&1 || fail "dpkg --purge: $(cat /check/purge.log)"
rm -rf /home/*/{job.textproto,token,.cache,.local}
listing >/check/after
diff /check/before /check/after || fail "the purge leaves traces (above)"
say "purged without a trace"
