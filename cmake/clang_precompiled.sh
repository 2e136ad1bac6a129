#!/bin/sh
# Runs clang with precompiled headers through ccache, so that clones in other folders share the objects. A header has
# absolute paths in it, so ccache does not keep it. Files that use it name it by a relative path. ccache compares the
# sum beside it, which is that of all the headers in it.
left=$# emits='' output='' depends='' before=''
while [ "$left" -gt 0 ]; do
  argument=$1
  shift
  left=$((left - 1))
  case $before in
    -o) output=$argument ;;
    -MF) depends=$argument ;;
  esac
  before=$argument
  if [ "$argument" = -Xclang ]; then
    [ "$1" = -emit-pch ] && emits=yes
  fi
  set -- "$@" "${argument#"$PWD"/}"
done
[ -n "$emits" ] || exec env CCACHE_PCH_EXTSUM=1 "$@"
env CCACHE_DISABLE=1 "$@" || exit
sed -e '1s/^[^:]*://' -e 's/\\$//' "$depends" | tr ' ' '\n' | grep . | xargs cat | sha256sum >"$output.sum"
