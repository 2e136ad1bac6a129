// Completion scripts for shells.
#ifndef PENSTOCK_CONFIG_MANUAL_COMPLETION_H_
#define PENSTOCK_CONFIG_MANUAL_COMPLETION_H_

#include <string>

#include "config/manual/program_text.h"

namespace penstock::config {

// Each returns a script that completes commands, flags and values (value_hint.h) of a program. For names of jobs and
// workers the script runs `PROGRAM jobs --names` or `PROGRAM workers --names`, with the connection flags of the line,
// for at most 2 s.
//
// For bash from 4.4 on. Needs no other script.
std::string BashCompletionOf(const ProgramText& program);
// For zsh with its completion system (compinit), as the file _PROGRAM in a folder of $fpath.
std::string ZshCompletionOf(const ProgramText& program);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_MANUAL_COMPLETION_H_
