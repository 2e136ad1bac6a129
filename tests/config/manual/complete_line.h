// Runs bash with a completion script, as if a user pressed TAB at the end of a line.
#ifndef PENSTOCK_TESTS_CONFIG_MANUAL_COMPLETE_LINE_H_
#define PENSTOCK_TESTS_CONFIG_MANUAL_COMPLETE_LINE_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "tests/base/temp_dir.h"

namespace penstock::config {

// Returns what bash offers for the word at the end of `line`, in the folder `dir`. `script` completes `program`.
inline std::vector<std::string> CompleteLine(const TempDir& dir, const std::string& script, const std::string& program,
                                             const std::string& line) {
  dir.Write("completion.sh", script);
  dir.Write("press_tab.sh",
            "set -e; source ./completion.sh; set +e; COMP_LINE=$(<line.txt)\n"
            "COMP_POINT=${#COMP_LINE}\n"
            "_" +
                program + "; printf '%s\\n' \"${COMPREPLY[@]}\" >offered.txt\n");
  dir.Write("line.txt", line);
  const std::string command = absl::StrCat("cd '", dir.path(), "' && bash press_tab.sh 2>errors.txt");
  EXPECT_EQ(system(command.c_str()), 0);
  EXPECT_EQ(*ReadWholeFile(dir.File("errors.txt")), "");
  return absl::StrSplit(*ReadWholeFile(dir.File("offered.txt")), '\n', absl::SkipEmpty());
}

}  // namespace penstock::config

#endif  // PENSTOCK_TESTS_CONFIG_MANUAL_COMPLETE_LINE_H_
