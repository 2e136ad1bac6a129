// Which row a row is mixed with, in a job that mixes.
#ifndef PENSTOCK_CLIENT_CLI_MIX_PARTNERS_H_
#define PENSTOCK_CLIENT_CLI_MIX_PARTNERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/augment/contact_sheet.h"
#include "pipeline/loader/load_job.h"

namespace penstock::cli {

// The partners of the record `key.record_id` in its repeat, in each of `epochs` epochs from key.epoch on: the row at
// the other end of its group, as the client mixes them (client/assembly/group_mixer.h). None for a row in the middle of
// its group, and for one that the end of the epoch leaves without a whole group. Empty for a job that does not mix.
// InvalidArgument as MakeMixPlan; errors of reading the partners.
absl::StatusOr<std::vector<std::optional<SheetPartner>>> MixPartners(const LoadJob& job, const SampleKey& key,
                                                                     int epochs);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_MIX_PARTNERS_H_
