#include "pipeline/records/request_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace penstock::records {

absl::Status BadRequest(const FeatureRequest& request, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("feature ", Json::Quote(request.key), " ", reason));
}

absl::Status CheckRequest(const FeatureRequest& request) {
  if (request.kind == FeatureKind::kNone || request.kind > FeatureKind::kInt64) {
    return BadRequest(request, "has no type; write BYTES, INT64 or FLOAT");
  }
  if (request.sequence) {
    return BadRequest(request, "is a feature list, which only a tf.train.SequenceExample has");
  }
  if (request.element_bytes != 0 && request.kind != FeatureKind::kBytes) {
    return BadRequest(request, "is decoded from raw bytes, so its type must be BYTES");
  }
  return absl::OkStatus();
}

absl::Status BadValue(const FeatureRequest& request, Fault fault, absl::string_view reason) {
  return WithFault(fault, absl::InvalidArgumentError(absl::StrCat("feature ", Json::Quote(request.key), ": ", reason)));
}

absl::Status WrongValueKind(const FeatureRequest& request, absl::string_view found) {
  return WithFault(Fault::kWrongKind, absl::InvalidArgumentError(absl::StrCat(
                                          "feature ", Json::Quote(request.key), " holds ", found,
                                          ", but the job requests ", std::string(FeatureKindName(request.kind)))));
}

absl::Status OverValueLimit(const FeatureRequest& request, uint64_t limit) {
  return WithFault(Fault::kOverLimit, absl::ResourceExhaustedError(absl::StrCat(
                                          "feature ", Json::Quote(request.key),
                                          ": the record's values take more than the limit of ", limit, " bytes")));
}

absl::Status CheckElements(const FeatureRequest& request, std::string_view value) {
  if (request.element_bytes <= 1 || value.size() % request.element_bytes == 0) return absl::OkStatus();
  return BadValue(request, Fault::kWrongShape,
                  absl::StrCat("a value of ", value.size(), " bytes is no whole number of elements of ",
                               request.element_bytes, " bytes"));
}

}  // namespace penstock::records
