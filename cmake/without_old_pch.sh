#!/bin/sh
# Removes the output of a compilation, and then runs it. ccache treats an existing precompiled header as one that the
# compilation uses, and then ignores the headers that go into the new one. It has returned a header with the messages of another
# state of the tree.
output='' before=''
for argument; do
  [ "$before" = -o ] && output=$argument
  before=$argument
done
rm -f "$output"
exec "$@"
