#include "pipeline/sources/tar/sample_members.h"

#include <optional>

namespace penstock {

SampleMembers::SampleMembers(const MemberTable& table, uint64_t k, const RequestedFeatures& features) : table_(table) {
  const uint64_t begin = table.First(k), end = table.First(k + 1);
  std::bitset<MemberTable::kNumbers> present, repeated;
  for (uint64_t member = begin; member < end; ++member) {
    const uint8_t extension = table.extension(member);
    if (present[extension]) repeated.set(extension);
    present.set(extension);
  }
  extensions_ = repeated;
  extensions_.set(MemberTable::kOther);
  for (const RequestedFeatures::Request& request : features.requests()) {
    for (const RequestedFeatures::Member& wanted : request) {
      const std::optional<uint8_t> extension = table.NumberOf(wanted.extension);
      if (!extension.has_value() || !present[*extension]) continue;
      extensions_.set(*extension);
      if (wanted.is_enough) break;
    }
  }
  extensions_.reset(MemberTable::kNone);
  if ((extensions_ & present).any()) return;
  for (uint64_t member = begin; member < end; ++member) {
    if (table.extension(member) == MemberTable::kNone) continue;
    if (only_ == UINT64_MAX || table.bytes(member) < table.bytes(only_)) only_ = member;
  }
}

}  // namespace penstock
