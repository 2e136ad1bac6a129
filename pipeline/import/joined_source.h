// Two sources whose records belong together by position.
#ifndef PENSTOCK_PIPELINE_IMPORT_JOINED_SOURCE_H_
#define PENSTOCK_PIPELINE_IMPORT_JOINED_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/import/record_source.h"

namespace penstock::imports {

// A source of Examples.
struct JoinedPart {
  std::unique_ptr<RecordSource> source;
  std::string files;                              // the name of its files, for messages
  std::function<std::string(uint64_t)> describe;  // returns the name of an item; thread-safe
};

// Makes a source whose item i is item i of `first` with the features of item i of `second` added, each with `prefix`
// before its key (records::JoinExamples). A bad item of either part is a bad item. Two features of one key end the run.
// Returns InvalidArgument with both numbers if the sizes differ.
absl::StatusOr<std::unique_ptr<RecordSource>> NewJoinedSource(JoinedPart first, JoinedPart second,
                                                              const std::string& prefix);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_JOINED_SOURCE_H_
