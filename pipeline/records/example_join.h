// Joins the features of two serialized tf.train.Examples.
#ifndef PENSTOCK_PIPELINE_RECORDS_EXAMPLE_JOIN_H_
#define PENSTOCK_PIPELINE_RECORDS_EXAMPLE_JOIN_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace penstock::records {

// Sets *out to `first` with the features of the Example `second` after its own, each with `prefix` before its key. All
// other bytes of `first` stay unchanged. `first` may be a SequenceExample, whose context then gets the features.
//   InvalidArgument  a record is malformed, or `second` is a SequenceExample with feature lists
//   AlreadyExists    both have one key; the message names it
absl::Status JoinExamples(std::string_view first, std::string_view second, std::string_view prefix, std::string* out);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_EXAMPLE_JOIN_H_
