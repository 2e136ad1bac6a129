// All records of a shard in order, with few requests to its storage.
#ifndef PENSTOCK_PIPELINE_SOURCES_SHARD_RECORDS_H_
#define PENSTOCK_PIPELINE_SOURCES_SHARD_RECORDS_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_reader.h"

namespace penstock::sources {

// Reads the records from the first to the last, and passes the number and the bytes of each to `use`: the whole record,
// or the bytes that hold `features` if they are not null. Passes DataLoss for a damaged record. Returns the first error
// of `use`, or the first other error of the reader.
//
// It reads ranges of up to 4 MiB, unless most of their bytes are not needed or the shard is compressed. Then it reads
// record by record.
absl::Status ForEachRecord(const ShardReader& reader, const RequestedFeatures* features,
                           const std::function<absl::Status(uint64_t, const absl::StatusOr<std::string_view>&)>& use);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_SHARD_RECORDS_H_
