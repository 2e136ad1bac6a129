#!/bin/sh
# Checks that every type in a header has a unique qualified name. If a program contains two types of one name, they share
# their constructors and destructors: the linker keeps those that it meets first.
# usage: unique_types_test.sh SOURCE_DIR
set -u
cd "$1" || exit 1
headers=$(find base bench client config examples net pipeline server tests transport -name '*.h' | sort)
# Prints each type's qualified name and place.
types=$(awk '
  FNR == 1 { space = "" }
  /^namespace [a-z_0-9:]+ \{/ { space = $2 }
  /^(struct|class|enum class|enum) ([A-Z_]+ )?[A-Za-z0-9_]+( final)?( :| \{)/ {
    name = $0
    sub(/^(struct|class|enum class|enum) /, "", name)
    sub(/^[A-Z_]+ /, "", name)
    sub(/[^A-Za-z0-9_].*/, "", name)
    print space "::" name, FILENAME ":" FNR
  }' $headers | sort)
if [ "$(echo "$types" | wc -l)" -lt 100 ]; then
  echo "only $(echo "$types" | wc -l) types were found: this test looks in the wrong place" >&2
  exit 1
fi
twice=$(echo "$types" | cut -d' ' -f1 | uniq -d)
[ -z "$twice" ] && exit 0
for name in $twice; do echo "$types" | grep "^$name " >&2; done
echo "two types have each of these names" >&2
exit 1
