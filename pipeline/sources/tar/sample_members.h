// The members of a sample that hold requested features, chosen by the index alone.
#ifndef PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_MEMBERS_H_
#define PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_MEMBERS_H_

#include <bitset>
#include <cstdint>

#include "pipeline/sources/member_table.h"
#include "pipeline/sources/requested_features.h"

namespace penstock::sources {

// The chosen members of one sample. A parser finds the same values and mistakes in them as in the whole sample. They
// are:
//   - the members that a request names, up to the first one that is enough
//   - members that have the same extension as another one: a parser reports such a sample as malformed
//   - members whose extension the table does not hold
//   - if none of these is in the sample, its smallest member, whose header has the name of the sample
class SampleMembers {
 public:
  // Chooses members of sample k. `table` must outlive this object.
  SampleMembers(const MemberTable& table, uint64_t k, const RequestedFeatures& features);

  // Returns whether the member is chosen. `member` is the number in the table of a member of the sample.
  bool Has(uint64_t member) const { return member == only_ || extensions_[table_.extension(member)]; }

 private:
  const MemberTable& table_;
  std::bitset<MemberTable::kNumbers> extensions_;
  uint64_t only_ = UINT64_MAX;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_MEMBERS_H_
