// What this machine's arithmetic makes of a fixed set of rows.
#ifndef PENSTOCK_PIPELINE_AUGMENT_CONFORMANCE_H_
#define PENSTOCK_PIPELINE_AUGMENT_CONFORMANCE_H_

#include <cstdint>
#include <string>

#include "pipeline/augment/pipeline.h"

namespace penstock {

// 16 hexadecimal digits: a hash of rows made from two built-in images (one a JPEG) through all that could differ
// between CPUs (resizes of every method and filter, crops drawn at random, normalization to float32, float16 and
// bfloat16; warps, colors, blur, noise, JPEG compression, policies), and of names and versions of the own ops that are
// linked in. Workers of one digest make the same bytes; a job runs on workers of one digest. Computed at the first
// call.
const std::string& ConformanceDigest();

// The fingerprint of a job's pipeline as states have it: the pipeline's own, and this machine's arithmetic. The same
// for a job that is served and for one that is read here.
uint64_t JobPipelineFingerprint(const Pipeline& pipeline);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_CONFORMANCE_H_
