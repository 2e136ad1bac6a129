#!/bin/sh
# Files that Highway compiles once for each target share the namespace of the target. HWY_INLINE is a plain `inline`
# where nothing is optimized, so that two helpers of one name in two such files would be one for the linker, whichever it
# meets first: another file's arithmetic, in builds for debugging only. HWY_API is static as well.
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
