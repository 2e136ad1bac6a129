// Checks of a job's `batch`.
#ifndef PENSTOCK_CONFIG_BATCH_CHECK_H_
#define PENSTOCK_CONFIG_BATCH_CHECK_H_

#include <vector>

#include "config/text_file.h"
#include "penstock/v1/job.pb.h"

namespace penstock::config {

// Appends the mistakes in `batch`, and those of other fields that do not go together with its changes.
void CheckBatch(const v1::JobSpec& job, std::vector<Mistake>* out);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_BATCH_CHECK_H_
