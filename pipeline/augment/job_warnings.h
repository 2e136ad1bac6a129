// Warnings about valid jobs that probably contain a mistake.
#ifndef PENSTOCK_PIPELINE_AUGMENT_JOB_WARNINGS_H_
#define PENSTOCK_PIPELINE_AUGMENT_JOB_WARNINGS_H_

#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock::augment {

// Returns one entry per warning, "PATH: MESSAGE" like CheckPipeline, with the remedy. Requires a job without mistakes.
// The only warning, one entry for all such features: numbers are named like boxes (bbox, boxes, xmin, ...), the job's
// ops move pixels, and the annotations do not move the numbers.
std::vector<std::string> JobWarnings(const v1::JobSpec& job);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_JOB_WARNINGS_H_
