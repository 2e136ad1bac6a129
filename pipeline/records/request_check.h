// Errors of requests and of values, for the parsers of several formats.
#ifndef PENSTOCK_PIPELINE_RECORDS_REQUEST_CHECK_H_
#define PENSTOCK_PIPELINE_RECORDS_REQUEST_CHECK_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/fault.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {

// Returns InvalidArgument: the key and the reason.
absl::Status BadRequest(const FeatureRequest& request, absl::string_view reason);
// Returns InvalidArgument for a request without a kind, a sequence request, and element_bytes with numbers.
absl::Status CheckRequest(const FeatureRequest& request);

// Returns InvalidArgument with the fault: the key and the reason.
absl::Status BadValue(const FeatureRequest& request, Fault fault, absl::string_view reason);
// Returns BadValue() for a record that has `found` instead of a value of the requested kind.
absl::Status WrongValueKind(const FeatureRequest& request, absl::string_view found);
// Returns ResourceExhausted for a record whose values take more memory than `limit`.
absl::Status OverValueLimit(const FeatureRequest& request, uint64_t limit);
// Returns BadValue() if the value is no whole number of elements of the request.
absl::Status CheckElements(const FeatureRequest& request, std::string_view value);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_REQUEST_CHECK_H_
