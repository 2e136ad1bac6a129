// Converts a job file's settings for reading shards to the types of the index. Separate, because the other files do not
// depend on protobuf.
#ifndef PENSTOCK_PIPELINE_SOURCES_INDEX_JOB_H_
#define PENSTOCK_PIPELINE_SOURCES_INDEX_JOB_H_

#include <cstdint>

#include "penstock/v1/job.pb.h"
#include "pipeline/sources/index_builder.h"

namespace penstock::sources {

Compression CompressionOf(v1::Dataset::Compression compression);

// `max_record_bytes` comes from the job's limits; 0 means the default.
IndexOptions IndexOptionsOf(v1::Dataset::Compression compression, v1::Source::Kind source, uint64_t max_record_bytes);
// Returns the options for the shards of the job's data set `set`.
IndexOptions IndexOptionsOf(const v1::JobSpec& job, int set = 0);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_INDEX_JOB_H_
