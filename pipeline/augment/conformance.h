// A digest of the rows that this machine's arithmetic produces, and fingerprints based on it.
#ifndef PENSTOCK_PIPELINE_AUGMENT_CONFORMANCE_H_
#define PENSTOCK_PIPELINE_AUGMENT_CONFORMANCE_H_

#include <cstdint>
#include <string>

#include "pipeline/augment/set_pipelines.h"

namespace penstock::augment {

// Returns 16 hexadecimal digits: a hash of rows and of own ops. The rows come from two built-in images (one a JPEG) and
// cover arithmetic that could differ between CPUs: resizes of every method (TF_BILINEAR only with antialias) and of the
// filters except BOX and NEAREST, randomly drawn crops, normalization to float32, float16 and bfloat16, warps, colors,
// blur, noise, JPEG compression, erasing and policies. The own ops contribute the names and versions of those that are
// linked in. Workers with the same digest make the same bytes, and a job runs on workers with one digest. The first
// call computes the digest. Thread-safe.
const std::string& ConformanceDigest();

// Returns the fingerprint of a job's pipelines as saved states record it: their own fingerprint combined with
// the conformance digest. A worker and a reader without a worker compute the same value.
uint64_t JobPipelineFingerprint(const SetPipelines& pipelines);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_CONFORMANCE_H_
