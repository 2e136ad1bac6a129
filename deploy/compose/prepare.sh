#!/usr/bin/env bash
# Makes the certificates and tokens of compose.yaml, for a first try: an authority of its own, and a folder for each role. The files
# belong to the image's user, 7070. So run it as root, or with a rootless engine in its user namespace (podman unshare prepare.sh).
#   prepare.sh [FOLDER]      (secrets, beside this file)
#   PENSTOCK='docker run --rm --entrypoint penstock IMAGE'      how this machine runs penstock (penstock)
set -euo pipefail
folder=${1:-$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/secrets}
read -ra penstock <<<"${PENSTOCK:-penstock}"
die() { echo "prepare.sh: $*" >&2; exit 1; }
command -v openssl >/dev/null || die "openssl is missing: apt-get install openssl"
"${penstock[@]}" --version >/dev/null || die "${penstock[*]} does not run: set PENSTOCK to the command line of penstock"
[ ! -e "$folder" ] || die "$folder exists. Delete it to make other certificates and tokens"

umask 077
mkdir -p "$folder"/{authority,coordinator,worker,trainer,operator}
chown 7070:7070 "$folder/coordinator" 2>/dev/null ||
  { rm -r "$folder"; die "this user may not give files to user 7070: run it as root, or by podman unshare"; }

key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365)
ca=$folder/authority
made() { openssl "$@" 2>"$folder/openssl.log" || { cat "$folder/openssl.log" >&2; die "openssl $* failed (above)"; }; }
made req -x509 "${key[@]}" -subj "/CN=Penstock first try" -keyout "$ca/ca.key" -out "$ca/ca.pem" \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
for role in coordinator:coordinator worker:workers; do
  made req -x509 "${key[@]}" -CA "$ca/ca.pem" -CAkey "$ca/ca.key" -subj "/CN=${role#*:}" \
    -keyout "$folder/${role%:*}/tls.key" -out "$folder/${role%:*}/tls.pem" \
    -addext basicConstraints=critical,CA:FALSE -addext "subjectAltName=DNS:${role#*:},DNS:localhost"
done
rm "$folder/openssl.log"
for role in worker trainer operator; do
  # The token, and the line of the coordinator's file.
  made=$("${penstock[@]}" token "$role" --role "$role")
  sed -n 1p <<<"$made" >"$folder/$role/token"
  sed -n 2p <<<"$made" >>"$folder/coordinator/tokens"
done
for role in coordinator worker trainer operator; do
  cp "$ca/ca.pem" "$folder/$role"
  chown -R 7070:7070 "$folder/$role"
done
chmod 755 "$folder"
echo "$folder: certificates and tokens for a year"
