#!/bin/sh
# Checks that every type in a header has a unique name. The project has one namespace. If a program contains two types of one
# name, they share their constructors and destructors: the linker keeps those that it meets first.
# usage: unique_types_test.sh SOURCE_DIR
set -u
cd "$1" || exit 1
headers=$(find base bench client config examples net pipeline server tests transport -name '*.h' | sort)
definition='^(struct|class|enum class|enum) ([A-Z_]+ )?[A-Za-z0-9_]+( final)?( :| \{)'
names=$(grep -hE "$definition" $headers | sed -E 's/^(struct|class|enum class|enum) ([A-Z_]+ )?([A-Za-z0-9_]+).*/\3/' | sort)
if [ "$(echo "$names" | wc -l)" -lt 100 ]; then
  echo "only $(echo "$names" | wc -l) types were found: this test looks in the wrong place" >&2
  exit 1
fi
twice=$(echo "$names" | uniq -d)
[ -z "$twice" ] && exit 0
for name in $twice; do
  grep -nE "^(struct|class|enum class|enum) ([A-Z_]+ )?$name( final)?( :| \{)" $headers
done
echo "two types have each of these names" >&2
exit 1
