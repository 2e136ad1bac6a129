#include "server/coordinator/state/quarantine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/utf8.h"

namespace penstock::coordinator {

std::optional<v1::BadRecord> Quarantine::Add(v1::BadRecord record) {
  if (!records_.insert(record.record()).second) return std::nullopt;
  TruncateUtf8(record.mutable_reason(), kMostReasonBytes);
  const bool known = reasons_.contains(record.reason());
  if (record.reason().empty() || (!known && reasons_.size() >= kMostReasons)) {
    record.set_reason(std::string(FaultName(Fault::kOther)));
  }
  ++reasons_[record.reason()];
  if (!record.message().empty() && listed_.size() < kMostListed) {
    TruncateUtf8(record.mutable_message(), kMostMessageBytes);
    listed_[record.record()] = record;
  } else {
    record.clear_message();
    record.clear_offset();
    record.clear_number_in_shard();
  }
  return record;
}

std::vector<v1::ReasonCount> Quarantine::Reasons() const {
  std::vector<v1::ReasonCount> counts;
  for (const auto& [reason, records] : reasons_) {
    v1::ReasonCount& count = counts.emplace_back();
    count.set_reason(reason);
    count.set_records(records);
  }
  std::stable_sort(counts.begin(), counts.end(),
                   [](const v1::ReasonCount& a, const v1::ReasonCount& b) { return a.records() > b.records(); });
  return counts;
}

std::string Quarantine::Describe() const {
  std::string text;
  for (const v1::ReasonCount& count : Reasons()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", count.records(), " ", count.reason());
  }
  return text;
}

}  // namespace penstock::coordinator
