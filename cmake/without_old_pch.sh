#!/bin/sh
# Runs a compilation after removing what it will write. ccache takes a precompiled header that lies there for one that the
# compilation uses, and then looks at none of the headers that go into the new one: it gave a header with the messages of
# another state of the tree.
output='' before=''
for argument; do
  [ "$before" = -o ] && output=$argument
  before=$argument
done
rm -f "$output"
exec "$@"
