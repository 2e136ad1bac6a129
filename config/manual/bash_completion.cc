#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/manual/completion.h"
#include "config/manual/shell_quote.h"
#include "config/manual/value_hint.h"

namespace penstock::config {
namespace {

// The part that needs no table. PROG is the name of the program. The table sets flags, switches, arguments, repeats and
// value in the caller's scope. Values are words to offer, or <files>, <folders>, <jobs> and <workers>.
constexpr char kScript[] = R"sh(
# Adds the words that continue the current one.
_PROG_offer() {
  local word
  for word in "$@"; do
    [[ $word == "$cur"* ]] && COMPREPLY+=("$prefix$word")
  done
}

# Adds files (-f) or folders (-d).
_PROG_paths() {
  local path
  local -a paths
  mapfile -t paths < <(compgen "$1" -- "$cur")
  for path in "${paths[@]}"; do COMPREPLY+=("$prefix$path"); done
  compopt -o filenames 2>/dev/null
}

# Adds the names of jobs or workers that the coordinator knows.
_PROG_names() {
  local -a names
  mapfile -t names < <(timeout 2 "${words[0]/#\~/$HOME}" "$1" --names "${connection[@]}" </dev/null 2>/dev/null |
    grep -E '^[][A-Za-z0-9._:@-]+$')
  _PROG_offer "${names[@]}"
}

# Adds what a value of the table allows.
_PROG_values() {
  local one
  for one in $1; do
    case $one in
      '<files>') _PROG_paths -f ;;
      '<folders>') _PROG_paths -d ;;
      '<jobs>') _PROG_names jobs ;;
      '<workers>') _PROG_names workers ;;
      *) _PROG_offer "$one" ;;
    esac
  done
}

_PROG() {
  local text=${COMP_LINE:0:COMP_POINT} word cur prefix='' command='' flag='' flags='' switches='' value='' repeats=''
  local -a words arguments=() connection=()
  local -i i count=0
  COMPREPLY=()
  read -ra words <<<"$text"
  [[ $text == *[[:space:]] ]] && words+=('')
  cur=${words[-1]}
  _PROG_table
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    word=${words[i]}
    case $flag$word in
      --coordinator* | --tls-* | --token-file*) connection+=("$word") ;;
    esac
    if [[ -n $flag ]]; then
      flag=''
    elif [[ $word == -* ]]; then
      [[ $word == --*=* || $word == --no-* || " $switches " == *" $word "* ]] || flag=$word
    elif [[ -z $command ]]; then
      command=$word
      _PROG_table
    else
      count+=1
    fi
  done
  if [[ -z $flag && $cur == --*=* ]]; then
    flag=${cur%%=*} prefix=${cur%%=*}=
    cur=${cur#*=}
  fi
  if [[ -n $flag ]]; then
    _PROG_table
    _PROG_values "$value"
  elif [[ $cur == --no-* ]]; then
    for word in $switches; do _PROG_offer "--no-${word#--}"; done
  elif [[ $cur == -* ]]; then
    _PROG_offer $flags
  else
    [[ -n $repeats ]] && ((count >= ${#arguments[@]})) && count=${#arguments[@]}-1
    ((count < ${#arguments[@]})) && _PROG_values "${arguments[count]}"
    [[ -z $cur && ${#COMPREPLY[@]} == 0 ]] && _PROG_offer $flags
  fi
  # Bash replaces only the part of the word that follows the last of these characters.
  local whole=$prefix$cur
  local -i skip=0
  for ((i = 0; i < ${#whole}; ++i)); do
    [[ ${whole:i:1} == [=:] && $COMP_WORDBREAKS == *"${whole:i:1}"* ]] && skip=i+1
  done
  for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]:skip}; done
}

complete -F _PROG PROG
)sh";

std::string ValueOf(const ValueHint& hint) {
  std::vector<std::string> values = hint.words;
  switch (hint.kind) {
    case ValueKind::kUnknown:
      break;
    case ValueKind::kFile:
      values.push_back("<files>");
      break;
    case ValueKind::kFolder:
      values.push_back("<folders>");
      break;
    case ValueKind::kJob:
      values.push_back("<jobs>");
      break;
    case ValueKind::kWorker:
      values.push_back("<workers>");
      break;
  }
  return absl::StrJoin(values, " ");
}

// Returns the assignments for a command with `arguments`, and the values of its flags.
std::string TableOf(const std::vector<FlagText>& flags, const std::vector<std::string>& arguments, bool repeats) {
  std::vector<std::string> names, switches, quoted;
  std::string values;
  for (const FlagText& flag : flags) {
    const std::string name = "--" + flag.name;
    names.push_back(name);
    if (flag.is_switch()) switches.push_back(name);
    const std::string value = ValueOf(HintOf(flag.value_name));
    if (!value.empty()) absl::StrAppend(&values, "        ", name, ") value=", ShellQuoted(value), " ;;\n");
  }
  for (const std::string& argument : arguments) quoted.push_back(ShellQuoted(argument));
  return absl::StrCat("      flags=", ShellQuoted(absl::StrJoin(names, " ")),
                      "\n      switches=", ShellQuoted(absl::StrJoin(switches, " ")), "\n      arguments=(",
                      absl::StrJoin(quoted, " "), ") repeats=", repeats ? "yes" : "''", "\n",
                      values.empty() ? "" : absl::StrCat("      case $flag in\n", values, "      esac\n"));
}

}  // namespace

std::string BashCompletionOf(const ProgramText& program) {
  std::vector<std::string> names;
  for (const CommandText& command : program.commands) names.push_back(command.name);
  const std::string commands = absl::StrJoin(names, " ");
  const FlagText help{"help", "", ""}, version{"version", "", ""};

  std::vector<FlagText> first = program.flags;
  first.insert(first.end(), {help, version});
  std::string cases = absl::StrCat("    '')\n", TableOf(first, {commands + " help"}, false), "      ;;\n    help)\n",
                                   TableOf({}, {commands}, false), "      ;;\n");
  for (const CommandText& command : program.commands) {
    std::vector<FlagText> flags = program.flags;
    flags.insert(flags.end(), command.flags.begin(), command.flags.end());
    flags.push_back(help);
    std::vector<std::string> arguments;
    const ArgumentHints hints = HintsOfArguments(command.arguments);
    for (const ValueHint& hint : hints.hints) arguments.push_back(ValueOf(hint));
    absl::StrAppend(&cases, "    ", command.name, ")\n", TableOf(flags, arguments, hints.repeats), "      ;;\n");
  }
  return absl::StrReplaceAll(
      absl::StrCat("# bash completion for PROG. Generated by `PROG manual`.\n\n_PROG_table() {\n"
                   "  flags='' switches='' arguments=() repeats='' value=''\n  case $command in\n",
                   cases, "  esac\n}\n", kScript),
      {{"PROG", program.name}});
}

}  // namespace penstock::config
