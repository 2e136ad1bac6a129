// The part of a job's `mix` that can be judged without knowing the columns' types (pipeline/batch/mix_job.h judges
// those).
#ifndef PENSTOCK_CONFIG_MIX_CHECK_H_
#define PENSTOCK_CONFIG_MIX_CHECK_H_

#include <vector>

#include "config/text_file.h"
#include "penstock/v1/job.pb.h"

namespace penstock {

// Adds the mistakes of job.mix, if there is one: numbers out of range, columns that no feature makes, groups that the
// batch would cut. Lines are 0.
void CheckMix(const v1::JobSpec& job, std::vector<Mistake>* out);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_MIX_CHECK_H_
