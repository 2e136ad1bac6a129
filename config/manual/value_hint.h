// What a shell offers for a value, derived from the value's name in the help.
#ifndef PENSTOCK_CONFIG_MANUAL_VALUE_HINT_H_
#define PENSTOCK_CONFIG_MANUAL_VALUE_HINT_H_

#include <string>
#include <string_view>
#include <vector>

namespace penstock::config {

enum class ValueKind { kUnknown, kFile, kFolder, kJob, kWorker };

struct ValueHint {
  ValueKind kind = ValueKind::kUnknown;
  std::vector<std::string> words;  // the values, or some of them

  bool operator==(const ValueHint&) const = default;
};

// Returns the hint of a value's name. Alternatives are separated by '|':
//   FILE, GLOB, SOURCE, X.png       files
//   DIR, FOLDER, [NAME=]DIR         folders
//   JOB                             names of jobs
//   WORKER                          names of workers
//   words in lower case             these words
//   other names                     nothing
// The first alternative that names files, folders, jobs or workers decides.
ValueHint HintOf(std::string_view value_name);

// The positional arguments of a command.
struct ArgumentHints {
  std::vector<std::string> names;  // "JOB"
  std::vector<ValueHint> hints;    // one for each name
  bool repeats = false;            // the last one may be repeated
};

// Returns the hints of a command's arguments, such as "SOURCE... --out DIR [flags]", up to the first flag.
ArgumentHints HintsOfArguments(std::string_view arguments);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_MANUAL_VALUE_HINT_H_
