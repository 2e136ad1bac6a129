// Where this worker's indexes come from: its own sidecars, the coordinator's blobs, or the shards themselves.
#ifndef PENSTOCK_SERVER_WORKER_INDEXES_SHARD_INDEXES_H_
#define PENSTOCK_SERVER_WORKER_INDEXES_SHARD_INDEXES_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/loader/dataset_reader.h"
#include "pipeline/records/index_job.h"
#include "pipeline/records/index_store.h"
#include "server/worker/link/coordinator_link.h"

namespace penstock {

// Thread-safe.
class ShardIndexes {
 public:
  // `link` outlives this.
  ShardIndexes(IndexStore store, CoordinatorLink* link) : store_(std::move(store)), link_(link) {}

  // The index of a shard of a snapshot: the sidecar where it is trusted, else the coordinator's blob when the file's
  // size and modification time are those that it was made from, else built anew. FailedPrecondition, with the file's
  // name, when the file is not the snapshot's.
  absl::StatusOr<std::shared_ptr<const ShardIndex>> Get(const SnapshotShard& shard, const std::string& path,
                                                        const IndexOptions& options);

  // Get() for the shards of a job.
  IndexProvider ProviderFor(const v1::JobSpec& spec);

  const IndexStore& store() const { return store_; }

 private:
  const IndexStore store_;
  CoordinatorLink* const link_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_INDEXES_SHARD_INDEXES_H_
