#include "pipeline/sources/tar/sample_members.h"

#include <optional>
#include <utility>

namespace penstock::sources {

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
  // Only a damaged index has a sample without an extension.
  const auto size = [&](uint64_t member) {
    return std::pair(table.extension(member) == MemberTable::kNone, table.bytes(member));
  };
  only_ = begin;
  for (uint64_t member = begin + 1; member < end; ++member) {
    if (size(member) < size(only_)) only_ = member;
  }
}

}  // namespace penstock::sources
