// Reports all mistakes in a job's features, ops and annotations at once.
#ifndef PENSTOCK_PIPELINE_AUGMENT_CHECK_PIPELINE_H_
#define PENSTOCK_PIPELINE_AUGMENT_CHECK_PIPELINE_H_

#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock::augment {

// Returns the mistakes of each data set's features and ops, of annotations and of the mix: one entry per mistake, each
// "PATH: MESSAGE" with the field's path in the job file, such as "ops[2].random_resized_crop.height: must be from 1 to
// 65500, not 0" or "features[1].column: ...". Returns an empty vector if SetPipelines::Create accepts the jobs of the
// data sets. After a mistake in an op, later ops on its column are not checked, because their input is unknown. The
// columns of a mix are checked only if there is no other mistake.
std::vector<std::string> CheckPipeline(const v1::JobSpec& job);

// Returns the mistakes of a job of one data set, or of one whose data sets have no features and ops of their own.
std::vector<std::string> CheckOnePipeline(const v1::JobSpec& job);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_CHECK_PIPELINE_H_
