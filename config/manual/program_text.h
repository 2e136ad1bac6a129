// The texts of a program, from which man pages and completions are made.
#ifndef PENSTOCK_CONFIG_MANUAL_PROGRAM_TEXT_H_
#define PENSTOCK_CONFIG_MANUAL_PROGRAM_TEXT_H_

#include <string>
#include <vector>

#include "config/flags.h"

namespace penstock::config {

struct CommandText {
  std::string name;
  std::string arguments;  // "JOB [flags]"
  std::string summary;    // one line
  // Paragraphs, separated by empty lines. A line that begins with blanks is shown as it is. A command without a
  // description has no man page of its own.
  std::string description;
  std::vector<FlagText> flags;
};

struct ProgramText {
  std::string name;
  std::string version;
  int section = 1;  // section of the manual: 1 for commands, 8 for daemons
  std::string summary;
  std::string synopsis;         // "COMMAND [ARGUMENTS] [FLAGS]"
  std::string description;      // as in CommandText
  std::vector<FlagText> flags;  // flags of every command, also before it
  std::vector<CommandText> commands;
  std::vector<std::string> see_also;  // "penstockd(8)"
};

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_MANUAL_PROGRAM_TEXT_H_
