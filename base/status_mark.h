// Marks by which code recognizes an error. No decision depends on the text of a message. A mark is a payload of the
// status (absl::Status::SetPayload). A status that is made from the code and the message of another has no marks.
#ifndef PENSTOCK_BASE_STATUS_MARK_H_
#define PENSTOCK_BASE_STATUS_MARK_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace penstock {

// Returns `status`, which must not be OK, with the mark. `mark` is "penstock.NAME".
inline absl::Status Marked(std::string_view mark, absl::Status status) {
  status.SetPayload({mark.data(), mark.size()}, absl::Cord());
  return status;
}

// Returns true if `status` has the mark.
inline bool HasMark(const absl::Status& status, std::string_view mark) {
  return status.GetPayload({mark.data(), mark.size()}).has_value();
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_STATUS_MARK_H_
