// What of a job is allowed and hardly meant.
#ifndef PENSTOCK_PIPELINE_AUGMENT_JOB_WARNINGS_H_
#define PENSTOCK_PIPELINE_AUGMENT_JOB_WARNINGS_H_

#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock {

// One entry for each, "PATH: MESSAGE" as CheckPipeline has them, with the cure. Of a job without mistakes.
//   Numbers named like a box (bbox, boxes, xmin, ...) beside ops that move pixels, which the annotations do not move.
std::vector<std::string> JobWarnings(const v1::JobSpec& job);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_JOB_WARNINGS_H_
