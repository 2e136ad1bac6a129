#!/usr/bin/env bash
# `cmake --install` with another prefix than the configured one: configuration, units and documents name the new prefix.
#   install_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$1 build_dir=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "install_test: $*" >&2; exit 1; }
install_to() { # PREFIX [DESTDIR]
  DESTDIR=${2:-} cmake --install "$build_dir" --prefix "$1" >"$place/install.log" 2>&1 ||
    { tail "$place/install.log"; fail "cmake --install --prefix $1 failed"; }
}

prefix=$place/prefix
install_to "$prefix"
doc=$prefix/share/doc/penstock
for role in coordinator worker standalone; do
  cmp -s "$prefix/etc/penstock/$role.textproto" "$source_dir/deploy/config/$role.textproto" ||
    fail "the configuration of the $role is not in PREFIX/etc/penstock"
  unit=$prefix/lib/systemd/system/penstock-$role.service
  grep -q "^ExecStart=$prefix/bin/penstockd $role --config $prefix/etc/penstock/$role.textproto" "$unit" ||
    fail "the unit of the $role starts something else: $(grep ^ExecStart "$unit")"
  page=$(sed -n 's,^Documentation=file:,,p' "$unit")
  [ -f "$page" ] || fail "the unit of the $role names a page that is not there: $page"
done
[ -x "$prefix/bin/penstock" ] && [ -x "$prefix/bin/penstockd" ] || fail "the programs are not in PREFIX/bin"

# Man pages and completions of both programs.
for file in man/man1/penstock.1 man/man1/penstock-read.1 man/man8/penstockd.8 bash-completion/completions/penstock \
  bash-completion/completions/penstockd zsh/vendor-completions/_penstock zsh/vendor-completions/_penstockd; do
  [ -s "$prefix/share/$file" ] || fail "PREFIX/share/$file is missing"
done

# What an operator has changed stays.
echo '# mine' >"$prefix/etc/penstock/worker.textproto"
install_to "$prefix"
[ "$(cat "$prefix/etc/penstock/worker.textproto")" = '# mine' ] || fail "a configuration that is there was overwritten"

# A distribution's prefix, staged.
install_to /usr "$place/stage"
[ -f "$place/stage/etc/penstock/worker.textproto" ] || fail "with the prefix /usr the configuration is not in /etc"
grep -q '^ExecStart=/usr/bin/penstockd worker --config /etc/penstock/worker.textproto' \
  "$place/stage/usr/lib/systemd/system/penstock-worker.service" || fail "the unit does not name /usr/bin and /etc"

# Documents: the front page and that of docs/, every message that a job file can hold, no link into nowhere.
grep -q '^## Five minutes in Python' "$doc/README.md" || fail "the front page is not README.md"
grep -q '^| \[semantics.md\]' "$doc/docs/README.md" || fail "docs/README.md is another page"
for proto in "$source_dir"/proto/penstock/v1/{job,config,op,op_color,op_common,op_degrade,op_geometry,op_policy,op_tensor}.proto; do
  cmp -s "$proto" "$doc/proto/penstock/v1/$(basename "$proto")" || fail "$(basename "$proto") is not installed"
done
while IFS=: read -r page target; do
  [ -e "$(dirname "$page")/$target" ] || fail "${page#"$doc/"} links to $target, which is not installed"
done < <(find "$doc" -name '*.md' -print0 | xargs -0 grep -HoE '\]\([^) ]+\)' |
         sed -E 's/:\]\(/:/; s/\)$//; s/#[^:]*$//' | grep -vE ':(https?|mailto):' | grep -v ':$')
grep -q '(docs/semantics.md)' "$doc/README.md" || fail "links to what is installed are lost"
echo "what is installed belongs together"
