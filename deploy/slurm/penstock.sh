# shellcheck shell=bash
# Shell library of the batch scripts in this folder. README.md describes the functions and the variables.
set -euo pipefail
umask 077

: "${PENSTOCK_SLURM:?set PENSTOCK_SLURM to the folder of penstock.sh}"
export PENSTOCK_SLURM
export PENSTOCK_RUNS=${PENSTOCK_RUNS:-$HOME/penstock-runs}
export PENSTOCK_NODE_TMP=${PENSTOCK_NODE_TMP:-/tmp}

penstock_daemons=()  # process ids of the srun commands of coordinator and workers
penstock_child=''    # process id of the command that penstock_run waits for
penstock_public=''   # the folder of penstock_publish
penstock_asked=''    # the signal that ends the job: USR1 shortly before the time limit, TERM from Slurm

penstock_say() { printf 'penstock: %s\n' "$*" >&2; }
penstock_die() { penstock_say "$*"; exit 1; }

# Makes the folders of this job, and locks the run. Variables that it sets:
#   PENSTOCK_RUN   the run's folder, which the next job of the same name continues
#   PENSTOCK_JOB   a folder in it with the secrets of this job, which exists while the job runs
penstock_open() {
  case $SLURM_JOB_NAME in
    */* | .* | *' '*) penstock_die "the job's name '$SLURM_JOB_NAME' becomes a folder: use letters, digits and '-' in --job-name" ;;
  esac
  export PENSTOCK_RUN=$PENSTOCK_RUNS/$SLURM_JOB_NAME
  export PENSTOCK_JOB=$PENSTOCK_RUN/job-$SLURM_JOB_ID
  mkdir -p "$PENSTOCK_RUN"
  exec {penstock_lock}>"$PENSTOCK_RUN/lock"
  flock --nonblock "$penstock_lock" ||
    penstock_die "another job uses the run's folder $PENSTOCK_RUN: give this job another --job-name, or let it wait with" \
      "--dependency=singleton or --dependency=afterany:JOBID"
  trap penstock_close EXIT
  trap 'penstock_interrupt USR1' USR1
  trap 'penstock_interrupt TERM' TERM
  rm -rf "$PENSTOCK_RUN"/job-*  # also those of earlier jobs that were killed
  mkdir "$PENSTOCK_JOB"
}

# Makes a token for each role in the folder PENSTOCK_KEYS (PENSTOCK_JOB), except those that are there.
penstock_make_tokens() {
  export PENSTOCK_KEYS=${PENSTOCK_KEYS:-$PENSTOCK_JOB}
  mkdir -p "$PENSTOCK_KEYS"
  local role
  for role in operator worker trainer; do
    [ -s "$PENSTOCK_KEYS/$role.token" ] ||
      penstock token "$role" --role "$role" --file "$PENSTOCK_KEYS/tokens" >"$PENSTOCK_KEYS/$role.token"
  done
}

# Prints the days for which the job's certificate is valid: two weeks more than the time limit, because `penstock doctor` and the
# alerts report a certificate of the last two weeks. 365 if the job has no limit.
penstock_days() {
  local end
  end=$(scontrol show job --oneliner "$SLURM_JOB_ID" | sed -n '1s/.* EndTime=\([^ ]*\).*/\1/p')
  end=$(date -d "$end" +%s 2>/dev/null) || { echo 365; return; }
  echo $(((end - $(date +%s)) / 86400 + 16))
}

# Starts the coordinator as a step, and exports its address and the variables of clients.
#   penstock_coordinator [SRUN-FLAG ...]
penstock_coordinator() {
  local log=$PENSTOCK_RUN/coordinator.log address=''
  penstock_make_tokens
  PENSTOCK_DAYS=$(penstock_days)
  export PENSTOCK_DAYS
  penstock_step coordinator "$log" --nodes=1 --ntasks=1 "$@" -- --tokens "$PENSTOCK_KEYS/tokens"
  until address=$(sed -n 's/^penstockd coordinator ready on //p' "$log") && [ -n "$address" ]; do
    penstock_check_daemons
    sleep 0.2
  done
  echo "$address" >"$PENSTOCK_JOB/address"
  export PENSTOCK_COORDINATOR=$address PENSTOCK_TLS_CA=$PENSTOCK_JOB/cert.pem PENSTOCK_TOKEN_FILE=$PENSTOCK_KEYS/trainer.token
}

# Starts a worker on each of N nodes as a step.
#   penstock_workers N [SRUN-FLAG ...] -- PENSTOCKD-FLAG ...
penstock_workers() {
  local nodes=$1
  shift
  penstock_step worker "$PENSTOCK_RUN/workers.log" --nodes="$nodes" --ntasks="$nodes" "$@"
}

# Starts a step that runs daemon.sh on each of its nodes.
#   penstock_step ROLE LOG [SRUN-FLAG ...] -- PENSTOCKD-FLAG ...
penstock_step() {
  local role=$1 log=$2 flags=()
  shift 2
  while [ "$1" != -- ]; do flags+=("$1"); shift; done
  shift
  : >"$log"
  # --overlap: the trainers' steps have the same CPUs and memory. --kill-on-bad-exit=0: the other workers continue after one has
  # failed. --task-epilog: removes the files in PENSTOCK_NODE_TMP, also after a SIGKILL.
  srun --export=ALL --job-name="penstock-$role" --overlap --cpu-bind=none --ntasks-per-node=1 --kill-on-bad-exit=0 \
    --task-epilog="$PENSTOCK_SLURM/clean_node.sh" "${flags[@]}" bash "$PENSTOCK_SLURM/daemon.sh" "$role" "$@" \
    </dev/null >"$log" 2>&1 &
  penstock_daemons+=("$!")
}

# Ends the job if the step of the coordinator or of the workers has ended.
penstock_check_daemons() {
  [ -z "$penstock_asked" ] || exit 0
  local pid
  for pid in "${penstock_daemons[@]}"; do
    kill -0 "$pid" 2>/dev/null || {
      tail -n 20 "$PENSTOCK_RUN"/{coordinator,workers}.log >&2 2>/dev/null || true  # the workers may not have a log yet
      penstock_die "a step of Penstock has ended (above)"
    }
  done
}

# Runs a command, and returns its exit status. Ends the job if a signal asks for it, or if a step of Penstock ends.
penstock_run() {
  [ -z "$penstock_asked" ] || exit 0
  local status=0
  "$@" &
  penstock_child=$!
  while kill -0 "$penstock_child" 2>/dev/null; do
    wait -n || true
    [ -n "$penstock_asked" ] || penstock_check_daemons
  done
  wait "$penstock_child" || status=$?
  penstock_child=''
  [ -z "$penstock_asked" ] || exit 0
  return "$status"
}

# Submits a job, and waits until it is ready. A job that exists already stays as it is.
#   penstock_submit JOB.textproto [FLAG ...]
penstock_submit() {
  local tries=0 operator=(env PENSTOCK_TOKEN_FILE="$PENSTOCK_KEYS/operator.token" penstock)
  # A command waits 5 s for the coordinator, which may not suffice on a busy node.
  until penstock_run "${operator[@]}" jobs --names >/dev/null 2>&1 || [ "$tries" -ge 12 ]; do tries=$((tries + 1)); done
  penstock_run "${operator[@]}" submit "$@"
}

# Publishes the address and the certificate, which are no secrets, for other users in the folder PENSTOCK_RUN/public.
penstock_publish() {
  penstock_public=$PENSTOCK_RUN/public
  chmod 711 "$PENSTOCK_RUNS" "$PENSTOCK_RUN"
  install -d -m 755 "$penstock_public"
  install -m 644 "$PENSTOCK_JOB/cert.pem" "$penstock_public/ca.pem"
  install -m 644 "$PENSTOCK_JOB/address" "$penstock_public/address.new"
  mv "$penstock_public/address.new" "$penstock_public/address"
}

# Runs the trainers of a service with the published folder SERVICE. Starts them again when the service has a new address.
#   penstock_follow SERVICE COMMAND...
penstock_follow() {
  local service=$1 status
  shift
  export PENSTOCK_TLS_CA=$service/ca.pem PENSTOCK_COORDINATOR
  while :; do
    [ -s "$service/address" ] || penstock_say "waiting for $service/address"
    until PENSTOCK_COORDINATOR=$(cat "$service/address" 2>/dev/null); do penstock_run sleep 2; done
    status=0
    penstock_run penstock_until_moved "$service" "$@" || status=$?
    penstock_moved "$service" || return "$status"
    penstock_say "the service has moved; the trainers continue from their checkpoint"
  done
}
penstock_moved() { [ -s "$1/address" ] && [ "$(cat "$1/address")" != "$PENSTOCK_COORDINATOR" ]; }

# Runs a command until it ends or the service moves.
penstock_until_moved() {
  local service=$1 command
  shift
  "$@" &
  command=$!
  trap - EXIT
  trap 'kill -USR1 "$command"' USR1
  trap 'kill "$command"' TERM
  while kill -0 "$command" 2>/dev/null; do
    ! penstock_moved "$service" || kill "$command" 2>/dev/null || true
    sleep 2 &
    wait -n || true  # until the command ends, or 2 s
  done
  wait "$command"
}

# Passes a signal on to the trainers, which may save a checkpoint. srun forwards SIGUSR1. Slurm itself sends SIGTERM to all steps.
penstock_interrupt() {
  penstock_asked=$1
  [ -z "$penstock_child" ] || kill -s "$1" "$penstock_child" 2>/dev/null || true
}

# Stops the steps of this job, removes its secrets, and requeues it if SIGUSR1 has ended it.
penstock_close() {
  local status=$?
  trap - EXIT
  trap '' USR1 TERM
  [ -z "$penstock_child" ] || kill "$penstock_child" 2>/dev/null || true
  [ -z "$penstock_public" ] || rm -f "$penstock_public/address"
  if [ ${#penstock_daemons[@]} -gt 0 ]; then
    # After SIGTERM, srun kills its tasks at once. scancel lets them end, but fails for a job that Slurm ends, whose tasks have
    # got SIGTERM already.
    [ "$penstock_asked" != TERM ] && scancel --quiet --signal=TERM "$SLURM_JOB_ID" || kill "${penstock_daemons[@]}" 2>/dev/null || true
    wait "${penstock_daemons[@]}" 2>/dev/null || true
  fi
  rm -rf "$PENSTOCK_JOB"
  if [ "$penstock_asked" = USR1 ]; then
    penstock_say "the time limit is near: requeueing job $SLURM_JOB_ID"
    scontrol requeue "$SLURM_JOB_ID" || penstock_die "job $SLURM_JOB_ID may not be requeued (above): submit it again to continue the run"
  fi
  exit "$status"
}
