// Textproto files with all their mistakes named at once, each by line and field.
#ifndef PENSTOCK_CONFIG_TEXT_FILE_H_
#define PENSTOCK_CONFIG_TEXT_FILE_H_

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace penstock {

struct Mistake {
  int line = 0;         // from 1; 0 where the whole file is meant
  std::string field;    // "ops[2].random_resized_crop.height"; may be empty
  std::string message;  // what is wrong and what would be right
};

// Where each field stands: path as in Mistake::field -> line, from 1.
using FieldLines = std::map<std::string, int>;

// Parses `text` into `message`. Goes on behind a mistake, so that one run names them all (at most
// 50). Returns them in the order of the file; empty when all is well. `lines` gets the place of
// every field.
std::vector<Mistake> ParseText(std::string_view text, google::protobuf::Message* message, FieldLines* lines);

// The line of the field, or of the nearest field that encloses it, or 0.
int LineOf(const FieldLines& lines, std::string field);

// By line; what has none comes last, since it often is missing because of those.
void SortMistakes(std::vector<Mistake>* mistakes);

// One InvalidArgument for all mistakes of `file`, a line each: "FILE:12: ops[2].height: ..."; OK
// when there are none.
absl::Status MistakesToStatus(const std::string& file, const std::vector<Mistake>& mistakes);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_TEXT_FILE_H_
