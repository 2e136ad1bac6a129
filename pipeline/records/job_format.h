// The formats of records, as jobs, parsers and containers name them.
#ifndef PENSTOCK_PIPELINE_RECORDS_JOB_FORMAT_H_
#define PENSTOCK_PIPELINE_RECORDS_JOB_FORMAT_H_

#include "penstock/v1/job.pb.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::records {

// Returns the format of a job's records. RAW records have no parser: returns kExample.
RecordFormat FormatOf(v1::RecordFormat format);
// The inverse.
v1::RecordFormat JobFormatOf(RecordFormat format);

// Returns the format of the container's records. A TFRecord file may also have the format kSequenceExample: returns
// kExample.
RecordFormat FormatOf(sources::ContainerKind container);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_JOB_FORMAT_H_
