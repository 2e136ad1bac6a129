// Warnings about valid jobs that probably contain a mistake.
#ifndef PENSTOCK_PIPELINE_AUGMENT_JOB_WARNINGS_H_
#define PENSTOCK_PIPELINE_AUGMENT_JOB_WARNINGS_H_

#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock::augment {

// Returns one entry per warning, "PATH: MESSAGE" like CheckPipeline, with the remedy. Requires a job without mistakes.
// The only warning at present:
//   Numbers named like a box (bbox, boxes, xmin, ...) in a job whose ops move pixels, if the annotations do not move
//   them.
std::vector<std::string> JobWarnings(const v1::JobSpec& job);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_JOB_WARNINGS_H_
