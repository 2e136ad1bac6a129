// Chooses the members of a sample that a read with requested features must fetch. Uses only the index.
#ifndef PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_MEMBERS_H_
#define PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_MEMBERS_H_

#include <bitset>
#include <cstdint>

#include "pipeline/sources/member_table.h"
#include "pipeline/sources/requested_features.h"

namespace penstock::sources {

// The chosen members of one sample. A parser finds the same values and errors in them as in the whole sample. The
// chosen members are:
//   - the members of the sample that a request names, in its order, up to the first one that is enough
//   - members with an extension that occurs more than once in the sample: a parser reports such a sample as malformed
//   - members with an extension that has no number of its own in the table (MemberTable::kOther)
//   - if the sample has none of these, its smallest member with an extension, because a header has the sample's name
class SampleMembers {
 public:
  // Chooses the members of sample k. `table` must outlive this object.
  SampleMembers(const MemberTable& table, uint64_t k, const RequestedFeatures& features);

  // Returns whether a member is chosen. `member` is its number in the table, and must be one of sample k.
  bool Has(uint64_t member) const { return member == only_ || extensions_[table_.extension(member)]; }

 private:
  const MemberTable& table_;
  std::bitset<MemberTable::kNumbers> extensions_;
  uint64_t only_ = UINT64_MAX;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_MEMBERS_H_
