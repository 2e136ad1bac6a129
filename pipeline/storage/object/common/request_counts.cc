#include "pipeline/storage/object/common/request_counts.h"

namespace penstock::storage {

std::string_view NameOf(RequestOutcome outcome) {
  static constexpr std::array<std::string_view, kRequestOutcomes> kNames = {"ok",     "missing",     "renewed",
                                                                            "denied", "unavailable", "failed"};
  return kNames[static_cast<size_t>(outcome)];
}

RequestOutcome OutcomeOf(const ObjectError& error) {
  if (error.cure == ObjectError::Cure::kAgain) return RequestOutcome::kUnavailable;
  switch (error.status.code()) {
    case absl::StatusCode::kNotFound:
      return RequestOutcome::kMissing;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return RequestOutcome::kDenied;
    case absl::StatusCode::kUnavailable:
      return RequestOutcome::kUnavailable;
    default:
      return RequestOutcome::kFailed;
  }
}

void RequestCounts::Count(RequestOutcome outcome, Nanos took) {
  outcomes_[static_cast<size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
  nanos_.fetch_add(took, std::memory_order_relaxed);
}

RequestCounts::Sums RequestCounts::Get() const {
  Sums sums;
  for (size_t i = 0; i < outcomes_.size(); ++i) sums.outcomes[i] = outcomes_[i].load(std::memory_order_relaxed);
  sums.seconds = InSeconds(nanos_.load(std::memory_order_relaxed));
  return sums;
}

}  // namespace penstock::storage
