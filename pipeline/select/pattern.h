// Regular expressions of RE2, which take linear time and bounded memory.
#ifndef PENSTOCK_PIPELINE_SELECT_PATTERN_H_
#define PENSTOCK_PIPELINE_SELECT_PATTERN_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"

namespace re2 {
class RE2;
}

namespace penstock::select {

// Immutable, thread-safe.
class Pattern {
 public:
  // Compiles a pattern of characters in UTF-8. `.` matches any character except a newline, and no byte that is not
  // UTF-8. Returns InvalidArgument with the reason of RE2 if the pattern is wrong or its program takes more than 1 MiB.
  static absl::StatusOr<std::shared_ptr<const Pattern>> Compile(std::string_view pattern);
  ~Pattern();

  // Returns whether any part of `text` matches, as re.search of Python.
  bool IsFoundIn(std::string_view text) const;

 private:
  explicit Pattern(std::unique_ptr<re2::RE2> compiled);

  const std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_PATTERN_H_
