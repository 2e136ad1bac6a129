#!/usr/bin/env bash
# tests/fuzz/run.sh [SECONDS] [TARGET...]: builds the fuzz targets (preset asan-ubsan) and runs all or the named ones, each for
# SECONDS (default: 60). Exits with 1 if one failed, and prints the place of the input.
#
# PENSTOCK_FUZZ_DIR   corpora, logs and findings; corpora grow from run to run, outside the tree (~/.cache/penstock/fuzz)
# PENSTOCK_FUZZ_JOBS  number of parallel runs (2)
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(readlink -f "$here/../..")

seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "usage: tests/fuzz/run.sh [SECONDS] [TARGET...]" >&2; exit 2; }
shift || true
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for folder in "$here"/*/seeds; do targets+=("$(basename "$(dirname "$folder")")"); done
fi
for target in "${targets[@]}"; do
  [ -d "$here/$target/seeds" ] || { echo "run.sh: no fuzz target '$target' (a folder with seeds in $here)" >&2; exit 2; }
done

cd "$root"
log=$(mktemp)
if ! cmake --preset asan-ubsan >"$log" 2>&1 ||
   ! cmake --build --preset asan-ubsan --parallel "${PENSTOCK_JOBS:-$(nproc)}" --target "${targets[@]/%/_fuzzer}" >>"$log" 2>&1; then
  tail -n 40 "$log"
  echo "run.sh: the fuzz targets do not build (above; the whole output is in $log)" >&2
  exit 1
fi
rm -f "$log"

work=${PENSTOCK_FUZZ_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/penstock/fuzz}
for target in "${targets[@]}"; do mkdir -p "$work/$target/corpus" "$work/$target/findings"; done
export LSAN_OPTIONS="suppressions=$root/tests/support/lsan.supp" UBSAN_OPTIONS=print_stacktrace=1

# Runs one target. Leaves the fuzzer's exit status in a file.
fuzz() {
  local target=$1 options=() status=0
  rm -f "$work/$target/findings/"*
  [ ! -f "$here/$target/dictionary" ] || options+=(-dict="$here/$target/dictionary")
  local inputs=("$work/$target/corpus" "$here/$target/seeds")  # the fuzzer writes new inputs to the first
  [ ! -d "$here/$target/regressions" ] || inputs+=("$here/$target/regressions")
  "$root/build/asan-ubsan/bin/${target}_fuzzer" "${inputs[@]}" "${options[@]}" -max_total_time="$seconds" -max_len=16384 \
    -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=256 -print_final_stats=1 \
    -artifact_prefix="$work/$target/findings/" >"$work/$target/log" 2>&1 || status=$?
  echo "$status" >"$work/$target/status"
}
passed() { [ "$(cat "$work/$1/status" 2>/dev/null)" = 0 ]; }  # false if the fuzzer did not even start

for target in "${targets[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "${PENSTOCK_FUZZ_JOBS:-2}" ]; do wait -n || true; done
  rm -f "$work/$target/status"
  fuzz "$target" &
done
wait

failed=0
printf '%-10s %12s %10s %10s   %s\n' target executions edges inputs result
for target in "${targets[@]}"; do
  result=passed
  passed "$target" || { result=FAILED failed=1; }
  log=$work/$target/log
  last=$(grep -aE '^#[0-9]+.* cov: ' "$log" | tail -n 1 || true)
  printf '%-10s %12s %10s %10s   %s\n' "$target" "$(sed -nE 's/^#([0-9]+).*/\1/p' <<<"$last")" \
    "$(sed -nE 's/.* cov: ([0-9]+).*/\1/p' <<<"$last")" "$(find "$work/$target/corpus" -type f | wc -l)" "$result"
done
for target in "${targets[@]}"; do
  ! passed "$target" || continue
  echo
  echo "$target did not end well; the end of $work/$target/log:"
  grep -aE 'broken invariant|ERROR|SUMMARY|runtime error' "$work/$target/log" | tail -n 10 || true
  find "$work/$target/findings" -type f -printf '  the input: %p\n'
  echo "  Repair it, and keep the input in tests/fuzz/$target/regressions/."
done
exit "$failed"
