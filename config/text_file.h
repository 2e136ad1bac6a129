// Parses textproto files and reports all mistakes at once, each with its line and field.
#ifndef PENSTOCK_CONFIG_TEXT_FILE_H_
#define PENSTOCK_CONFIG_TEXT_FILE_H_

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace penstock::config {

struct Mistake {
  int line = 0;         // from 1; 0: the whole file
  std::string field;    // "ops[2].random_resized_crop.height", or only "height" from ParseText; may be empty
  std::string message;  // the mistake and the correct form
};

// The line of each field: path as in Mistake::field -> line, from 1.
using FieldLines = std::map<std::string, int>;

// Parses `text` into `message`. Skips each field that has a mistake, and returns at most 50 mistakes in the order of
// the file. Stops at an unbalanced brace. Stores the line of each field of `message` in `lines`, which stays empty if
// the parser cannot reach the end of the file. Reads names of an earlier release as the names of today, and adds a
// warning for each to `warnings`.
std::vector<Mistake> ParseText(std::string_view text, google::protobuf::Message* message, FieldLines* lines,
                               std::vector<Mistake>* warnings);

// Returns the line of the field (for a repeated field without an index, that of its first element), or of the nearest
// field that encloses it, or 0.
int LineOf(const FieldLines& lines, std::string field);

// Adds `rules` to `mistakes`, which ParseText has returned, with their lines, and sorts all. `rules` are mistakes of
// the parsed message. Leaves out those that may follow from a field that the parser rejected: all if the parser did not
// reach the end of the file, otherwise those of fields with the name of a rejected one.
void AddRules(const FieldLines& lines, std::vector<Mistake> rules, std::vector<Mistake>* mistakes);

// Sorts by line. Mistakes without a line come last, because they often follow from the others.
void SortMistakes(std::vector<Mistake>* mistakes);

// Returns "FILE:12: ops[2].height: ..." for each mistake or warning of `file`.
std::vector<std::string> MistakeLines(const std::string& file, const std::vector<Mistake>& mistakes);

// Returns one InvalidArgument for all mistakes of `file`, one on each line. Returns OK if there are none.
absl::Status MistakesToStatus(const std::string& file, const std::vector<Mistake>& mistakes);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_TEXT_FILE_H_
