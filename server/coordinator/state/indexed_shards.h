// The shards of a data set, after workers have indexed all of them.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_INDEXED_SHARDS_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_INDEXED_SHARDS_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "penstock/v1/job.pb.h"
#include "penstock/v1/submitted_job.pb.h"

namespace penstock::coordinator {

// Returns the name of the shard's file in messages.
std::string FileName(const v1::Shard& shard);

// Keeps the records that the data set's counting steps keep of its indexed shards.
void Slice(const v1::Dataset& dataset, std::span<v1::Shard> shards);

// Returns FailedPrecondition if the selection of data set `set` keeps none of the records of `shards`, its files.
// Forgets their longest runs.
absl::Status CheckKeepsSome(const v1::JobSpec& job, int set, std::span<v1::Shard> shards);

// Returns InvalidArgument if the rows of two arrays among `shards`, the files of a data set, have different types.
// Forgets the types.
absl::Status CheckRowTypes(std::span<v1::Shard> shards);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_INDEXED_SHARDS_H_
