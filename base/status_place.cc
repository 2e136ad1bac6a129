#include "base/status_place.h"

#include <string>

#include "absl/strings/cord.h"
#include "base/fault.h"

namespace penstock {
namespace {

constexpr char kMessage[] = "penstock.message_without_place";

}  // namespace

absl::Status AtPlace(std::string_view place, const absl::Status& status) {
  absl::Status placed = Prefixed(place, status);
  placed.SetPayload(kMessage, absl::Cord(status.message()));
  return placed;
}

absl::Status WithoutPlace(const absl::Status& status) {
  const auto message = status.GetPayload(kMessage);
  if (!message.has_value()) return status;
  return WithFault(FaultOf(status), absl::Status(status.code(), std::string(*message)));
}

}  // namespace penstock
