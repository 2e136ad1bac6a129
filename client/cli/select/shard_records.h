// All records of a shard in order, with few requests to its storage.
#ifndef PENSTOCK_CLIENT_CLI_SELECT_SHARD_RECORDS_H_
#define PENSTOCK_CLIENT_CLI_SELECT_SHARD_RECORDS_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_reader.h"

namespace penstock::cli {

// Reads the records from the first to the last, and passes the number and the bytes of each to `use`: the whole record,
// or the bytes that hold `features` if they are not null. Passes DataLoss for a damaged record and continues. Returns
// the first other error of the reader.
//
// It reads ranges of up to 4 MiB, unless most of their bytes are not needed or the shard is compressed. Then it reads
// record by record.
absl::Status ForEachRecord(const sources::ShardReader& reader, const sources::RequestedFeatures* features,
                           const std::function<void(uint64_t, const absl::StatusOr<std::string_view>&)>& use);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_SELECT_SHARD_RECORDS_H_
