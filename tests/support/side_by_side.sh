#!/usr/bin/env bash
# Runs the tests of a suite at the same time, at most 8 at once, each in a process of its own. Then prints their outputs in turn.
# For tests that wait for most of their time. Fails if a test fails, or if the suite has no tests.
#   side_by_side.sh PROGRAM SUITE
set -uo pipefail
program=$1 suite=$2
outputs=$(mktemp -d)
trap 'rm -rf "$outputs"' EXIT

# A line of a suite's name, then a line for each test: two spaces, its name, and perhaps a comment.
mapfile -t tests < <("$program" --gtest_list_tests --gtest_filter="$suite.*" | sed -n 's/^  \([^ ]*\).*/\1/p')
[ ${#tests[@]} -gt 0 ] || { echo "$program has no suite $suite"; exit 1; }

declare -A results
running=0
await_one() {
  local process
  wait -n -p process
  results[$process]=$?
  running=$((running - 1))
}

# If ctest ends this script, the tests end too. A shell makes background processes ignore SIGINT, which tests send.
processes=()
for test in "${tests[@]}"; do
  [ $running -lt 8 ] || await_one
  setpriv --pdeathsig KILL env --default-signal=INT,QUIT "$program" --gtest_filter="$suite.$test" \
    >"$outputs/${#processes[@]}" 2>&1 &
  processes+=($!)
  running=$((running + 1))
done
while [ $running -gt 0 ]; do await_one; done

failed=()
for i in "${!tests[@]}"; do
  [ "${results[${processes[$i]}]}" -eq 0 ] || failed+=("$suite.${tests[$i]}")
  cat "$outputs/$i"
done
[ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}"; exit 1; }
