// What this machine's arithmetic makes of a fixed set of rows.
#ifndef PENSTOCK_SERVER_WORKER_JOBS_CONFORMANCE_H_
#define PENSTOCK_SERVER_WORKER_JOBS_CONFORMANCE_H_

#include <string>

namespace penstock {

// 16 hexadecimal digits: a hash of rows made from two built-in images (one a JPEG) through all that could differ
// between CPUs (resizes of every method and filter, crops drawn at random, normalization to float32, float16 and
// bfloat16; warps, colors, blur, noise, JPEG compression, policies), and of names and versions of the own ops that are
// linked in. Workers of one digest make the same bytes; a job runs on workers of one digest. Computed at the first
// call.
const std::string& ConformanceDigest();

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_JOBS_CONFORMANCE_H_
