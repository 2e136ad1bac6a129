// The members of a sample that hold requested features, chosen by the index alone.
#ifndef PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_MEMBERS_H_
#define PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_MEMBERS_H_

#include <bitset>
#include <cstdint>

#include "pipeline/sources/member_table.h"
#include "pipeline/sources/requested_features.h"

namespace penstock::sources {

// Members of one sample. A parser finds the same values and mistakes in them as in the whole sample:
//   - the members that a request names, up to the first one that is enough
//   - members with the same extension as another one, because such a sample is malformed
//   - members whose extension the table does not hold
//   - the smallest member if there is none of these, because its header has the name of the sample
class SampleMembers {
 public:
  // Chooses the members of sample k.
  SampleMembers(const MemberTable& table, uint64_t k, const RequestedFeatures& features);

  // `member` is a member of the sample, by its number in the table.
  bool Has(uint64_t member) const { return member == only_ || extensions_[table_.extension(member)]; }

 private:
  const MemberTable& table_;
  std::bitset<MemberTable::kNumbers> extensions_;
  uint64_t only_ = UINT64_MAX;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_MEMBERS_H_
