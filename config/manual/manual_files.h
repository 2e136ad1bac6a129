// The files of a program's manual: man pages and completions.
#ifndef PENSTOCK_CONFIG_MANUAL_MANUAL_FILES_H_
#define PENSTOCK_CONFIG_MANUAL_MANUAL_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/manual/program_text.h"

namespace penstock::config {

struct ManualFile {
  std::string path;  // below PREFIX/share: "man/man1/penstock.1"
  std::string content;
};

// Returns the man pages of the program and of its commands, and its completions for bash and zsh.
std::vector<ManualFile> ManualFilesOf(const ProgramText& program);

// The command `manual`. Writes all files below the folder `out`, and makes folders that do not exist. If `out` is "",
// prints one file: the program's man page for the form "man" or "", or the completion for "bash" or "zsh".
// InvalidArgument: another form, or a form with `out`.
absl::Status RunManual(const ProgramText& program, const std::string& form, const std::string& out);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_MANUAL_MANUAL_FILES_H_
