#!/usr/bin/env bash
# Runs a daemon of a job on one node; a step of penstock.sh starts it. A daemon that fails after it was ready starts again.
#   daemon.sh coordinator|worker [PENSTOCKD-FLAG ...]
set -euo pipefail
umask 077
role=$1
shift
stopped=''
trap 'stopped=1' TERM  # Slurm sends the signal to penstockd too
trap '' USR1 USR2 HUP  # signals for trainers

# Prints the IPv4 address of this node: of the interface PENSTOCK_INTERFACE, otherwise the NodeAddr of Slurm.
own_address() {
  local name address
  if [ -n "${PENSTOCK_INTERFACE:-}" ]; then
    address=$(ip -4 -o address show dev "$PENSTOCK_INTERFACE" | awk '{ sub("/.*", "", $4); print $4; exit }')
    [ -n "$address" ] || die "PENSTOCK_INTERFACE: $PENSTOCK_INTERFACE has no IPv4 address"
  else
    name=$(scontrol show node --oneliner "$SLURMD_NODENAME" | sed -n 's/.* NodeAddr=\([^ ]*\).*/\1/p')
    address=$(getent ahostsv4 "$name" | awk '{ print $1; exit }')
    [ -n "$address" ] || die "NodeAddr $name has no IPv4 address: set PENSTOCK_INTERFACE"
    case $name/$address in
      127.*) ;;
      */127.*) die "NodeAddr $name is the loopback address $address on this node: set PENSTOCK_INTERFACE to the interface of the cluster's network" ;;
    esac
  fi
  echo "$address"
}
die() { printf 'penstock: %s: %s\n' "$SLURMD_NODENAME" "$*" >&2; exit 1; }

address=$(own_address)
listen=$address:0
# On the node's own disk, with a short path, because it has a socket. clean_node.sh removes it.
node=$(mktemp -d "$PENSTOCK_NODE_TMP/penstock-$SLURM_JOB_ID.$SLURM_STEP_ID.$SLURM_PROCID.XXXX")
cert=$PENSTOCK_JOB/cert.pem key=$PENSTOCK_JOB/key.pem

if [ "$role" = coordinator ]; then
  # One self-signed certificate, which is its own CA: no other certificate can be made for this job. All workers have the name
  # `penstock` in it. The key does not leave the owner-only folder.
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days "${PENSTOCK_DAYS:-365}" -subj /CN=penstock \
    -addext "subjectAltName=IP:$address,DNS:penstock" -keyout "$key" -out "$cert" 2>"$node/openssl.log" ||
    { cat "$node/openssl.log" >&2; die "openssl could not make a certificate (above)"; }
  set -- --state-dir "$PENSTOCK_RUN/coordinator" "$@"
else
  set -- --coordinator "$PENSTOCK_COORDINATOR" --token-file "$PENSTOCK_KEYS/worker.token" --tls-name penstock \
    --name "$SLURMD_NODENAME" --state-dir "$node/state" --socket-dir "$node" \
    --socket-users "${PENSTOCK_SOCKET_USERS:-own}" "$@"
fi

while :; do
  penstockd "$role" --listen "$listen" --tls-cert "$cert" --tls-key "$key" --tls-ca "$cert" --port-file "$node/port" "$@" &
  status=0
  wait "$!" || status=$?
  while kill -0 "$!" 2>/dev/null; do wait "$!" || status=$?; done  # a signal ends `wait`
  [ -z "$stopped" ] || exit 0
  [ "$status" -ne 0 ] || exit 0
  [ -s "$node/port" ] || exit "$status"  # it was never ready: a mistake that remains
  echo "penstock: $SLURMD_NODENAME: the $role ended with status $status, and starts again" >&2
  [ "$role" = worker ] || listen=$address:$(<"$node/port")  # its clients know this port
  rm -f "$node/port"
  sleep 1
done
