// Checks the part of a job's `mix` that does not depend on the columns' types. pipeline/batch/mix_job.h checks the
// rest.
#ifndef PENSTOCK_CONFIG_MIX_CHECK_H_
#define PENSTOCK_CONFIG_MIX_CHECK_H_

#include <vector>

#include "config/text_file.h"
#include "penstock/v1/job.pb.h"

namespace penstock::config {

// Adds the mistakes of job.mix, if set: numbers out of range, columns that no feature produces, groups that the batch
// would split, an op with the name of the mix. Their lines are 0.
void CheckMix(const v1::JobSpec& job, std::vector<Mistake>* out);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_MIX_CHECK_H_
