// Class names and their numbers: the lines of labels.txt.
#ifndef PENSTOCK_PIPELINE_IMPORT_LABEL_NAMES_H_
#define PENSTOCK_PIPELINE_IMPORT_LABEL_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/storage/storage.h"

namespace penstock::imports {

using LabelNames = std::map<std::string, int64_t, std::less<>>;

// Splits "left<TAB or space>right" at its last tab, or at its last space if it has no tab, and strips blanks around
// both parts. Returns false if there are not two parts.
bool SplitLastWord(std::string_view line, std::string_view* left, std::string_view* right);

// Reads lines "name<TAB or space>number"; empty lines are skipped. InvalidArgument: a line has no number, or has a name
// that an earlier line has with another number (the message names the line), or the file has no names. Also returns the
// errors of storage::ReadContent().
absl::StatusOr<LabelNames> ReadLabelNames(storage::Storage* storage, const std::string& path);

// Returns the text that ReadLabelNames() reads: "name<TAB>number", sorted by number.
std::string LabelNamesText(const LabelNames& names);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_LABEL_NAMES_H_
