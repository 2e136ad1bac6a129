#!/bin/sh
# Files that Highway compiles once per target share the namespace of the target. Without optimization, HWY_INLINE is a plain
# `inline`. The linker then keeps only one of two helpers with the same name, the first that it meets. So debug builds alone
# would use another file's arithmetic. HWY_API is also static.
# usage: static_helpers_test.sh SOURCE_DIR
set -u
cd "$1" || exit 1
files=$(grep -rl --include='*.cc' --include='*.h' 'hwy/foreach_target.h' pipeline)
if [ -z "$files" ]; then
  echo "no file under pipeline/ includes hwy/foreach_target.h: this test looks in the wrong place" >&2
  exit 1
fi
if found=$(grep -nE '^(HWY_INLINE|inline)\b' $files); then
  echo "$found"
  echo "these helpers are not static; write HWY_API in place of HWY_INLINE" >&2
  exit 1
fi
