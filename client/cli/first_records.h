// The first records of a shard, for commands that find out which features a data set has.
#ifndef PENSTOCK_CLIENT_CLI_FIRST_RECORDS_H_
#define PENSTOCK_CLIENT_CLI_FIRST_RECORDS_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "pipeline/sources/shard_kind.h"
#include "pipeline/sources/shard_reader.h"

namespace penstock::cli {

// Reads up to `most` records from the start of a shard, and passes each readable one to `use`. Calls `skip` with the
// error of each unreadable record, and with each error of `use`; the message names file and record.
void ReadFirstRecords(const sources::ShardReader& reader, uint64_t most,
                      const std::function<absl::Status(sources::ContainerKind, std::string_view)>& use,
                      const std::function<void(absl::Status)>& skip);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_FIRST_RECORDS_H_
