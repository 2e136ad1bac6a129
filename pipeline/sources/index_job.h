// Converts a job file's settings for reading shards to the types of the index. Separate, because the other files do not
// depend on protobuf.
#ifndef PENSTOCK_PIPELINE_SOURCES_INDEX_JOB_H_
#define PENSTOCK_PIPELINE_SOURCES_INDEX_JOB_H_

#include <cstdint>
#include <string>

#include "penstock/v1/job.pb.h"
#include "pipeline/sources/index_builder.h"

namespace penstock::sources {

Compression CompressionOf(v1::Dataset::Compression compression);

// `max_record_bytes` comes from the job's limits; 0 means the default. The caller sets IndexOptions::files.
IndexOptions IndexOptionsOf(v1::Dataset::Compression compression, v1::Source::Kind source, uint64_t max_record_bytes,
                            const v1::Window& window = v1::Window::default_instance(),
                            const v1::Manifest& manifest = v1::Manifest::default_instance());
// Returns NumPy's name of the type of the numbers of a source of numbers without a header, or "" for another one.
std::string NumberTypeOf(v1::Source::Kind source);
// Returns the options for the shards of the job's data set `set`.
IndexOptions IndexOptionsOf(const v1::JobSpec& job, int set = 0);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_INDEX_JOB_H_
