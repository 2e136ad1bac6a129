// What a job file says of how shards are walked, in the index's own terms. Apart from the rest, which knows no
// protobuf.
#ifndef PENSTOCK_PIPELINE_RECORDS_INDEX_JOB_H_
#define PENSTOCK_PIPELINE_RECORDS_INDEX_JOB_H_

#include <cstdint>

#include "penstock/v1/job.pb.h"
#include "pipeline/records/index_builder.h"

namespace penstock {

Compression CompressionOf(v1::Dataset::Compression compression);

// `max_record_bytes`: of limits; 0: the default.
IndexOptions IndexOptionsOf(v1::Dataset::Compression compression, uint64_t max_record_bytes);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_INDEX_JOB_H_
