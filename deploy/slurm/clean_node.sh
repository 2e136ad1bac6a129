#!/usr/bin/env bash
# Removes the files of a daemon on its node. Slurm runs it after each task of a step of penstock.sh, also after SIGKILL.
rm -rf -- "${PENSTOCK_NODE_TMP:?}/penstock-${SLURM_JOB_ID:?}.${SLURM_STEP_ID:?}.${SLURM_PROCID:?}".*
