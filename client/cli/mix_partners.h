// Finds the partner of a row in a job that mixes rows.
#ifndef PENSTOCK_CLIENT_CLI_MIX_PARTNERS_H_
#define PENSTOCK_CLIENT_CLI_MIX_PARTNERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/augment/contact_sheet.h"
#include "pipeline/loader/load_job.h"

namespace penstock::cli {

// Returns the partners of `row` and of the same record in the following epochs, or passes of its data set: `epochs` in
// all. The partner is the row at the opposite end of the group, as in client/assembly/group_mixer.h. A row in the
// middle of its group, or in an incomplete group at the end of the epoch, has none. Returns an empty vector for a job
// that does not mix rows. Returns the errors of MakeMixPlan and of reads of the partners.
absl::StatusOr<std::vector<std::optional<augment::SheetPartner>>> MixPartners(const loader::LoadJob& job,
                                                                              const plan::PlannedRow& row, int epochs);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_MIX_PARTNERS_H_
