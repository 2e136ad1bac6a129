#!/bin/sh
# Checks lists in header comments, such as a function's outcomes, with one line or more for each item. clang-format breaks a
# comment line that is too long regardless of its meaning, and permanently joins the items of a list. The test finds a line that
# continues an item in the place of an item, and an item inside a line. It skips lists between "clang-format off" and "on",
# which clang-format keeps.
# usage: header_lists_test.sh SOURCE_DIR
set -u
cd "$1" || exit 1
if [ "$(grep -c '^//   .*  ' pipeline/storage/storage.h)" -lt 5 ]; then
  echo "pipeline/storage/storage.h has no list: this test looks in the wrong place" >&2
  exit 1
fi
found=$(find base client config net pipeline server transport -name '*.h' -exec awk '
  function text(line) { sub(/^ *\/\//, "", line); return line }
  function depth(line) { match(line, /^ */); return RLENGTH }
  # An item: its name, at least two blanks, its meaning.
  function is_item(line) { return depth(line) == 3 && line ~ /^   [^ ].*[^ ]?  +[^ ]/ }
  function words_before_gap(line,   parts) { sub(/^ */, "", line); sub(/  +.*/, "", line); return split(line, parts, " ") }
  function look(   i, items, fused, torn) {
    items = 0
    for (i = 1; i <= n; ++i) if (is_item(block[i])) ++items
    if (items > 1) for (i = first; i <= n; ++i) {
      fused = is_item(block[i]) && (words_before_gap(block[i]) > 9 || block[i] ~ /^   [a-z]+ [A-Z][a-z]+[A-Z][a-z]+  /)
      torn = block[i] ~ /^   [a-z]/ && !is_item(block[i]) && depth(block[i - 1]) >= 3 && \
             (depth(block[i + 1]) > 8 || (block[i + 1] == "" && is_item(block[i - 1])))
      if (fused || torn) print FILENAME ":" start + i - 1 ": " block[i]
    }
    n = 0; first = 0
  }
  FNR == 1 { if (n) look(); off = 0 }
  /clang-format off/ { off = 1 }
  /clang-format on/ { off = 0 }
  !off && /^ *\/\// {
    if (!n) start = FNR
    block[++n] = text($0)
    block[n + 1] = ""
    if (!first && is_item(block[n])) first = n + 1
    next
  }
  { if (n) look() }' {} +)
if [ -n "$found" ]; then
  echo "$found"
  echo "these lists are run together: give each item a line of at most 120 columns, or fence the list with clang-format off" >&2
  exit 1
fi
# The loop at the beginning of the client library's header.
if ! grep -q '^//     if (absl::IsOutOfRange(batch.status())) break;' client/include/penstock/client.h ||
  ! grep -q '^//   for (penstock::Batch& batch : (\*reader)->Batches()) { ... }$' client/include/penstock/client.h; then
  echo "client/include/penstock/client.h: the first example is not a line for each of its lines" >&2
  exit 1
fi
