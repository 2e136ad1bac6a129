// Fetches indexes before rows need them.
#ifndef PENSTOCK_SERVER_WORKER_INDEXES_INDEX_PREFETCH_H_
#define PENSTOCK_SERVER_WORKER_INDEXES_INDEX_PREFETCH_H_

#include <cstdint>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/sources/dataset_files.h"
#include "server/worker/indexes/shard_indexes.h"

namespace penstock::worker {

// Returns the numbers, in order, of the shards of a READY job of which this worker is owner or backup in the job's
// view. Pure.
std::vector<int> ShardsToServe(const v1::Job& job, const std::string& worker_id);

// Fetches the indexes of these shards into the worker's own store. Neither a move of ranges nor the loss of another
// worker or the coordinator then makes rows wait for an index. Not thread-safe.
class IndexPrefetch {
 public:
  IndexPrefetch(std::string worker_id, std::vector<sources::DataRoot> roots, ShardIndexes* indexes)
      : worker_id_(std::move(worker_id)), roots_(std::move(roots)), indexes_(indexes) {}

  // Blocks. If a stop is requested, or `wanted` returns false, returns true before the next shard. Returns false if
  // some indexes are currently unavailable; run it again later. Ignores other errors, which rows will report.
  bool Run(const v1::Job& job, const std::stop_token& stop, absl::FunctionRef<bool()> wanted);

 private:
  const std::string worker_id_;
  const std::vector<sources::DataRoot> roots_;
  ShardIndexes* const indexes_;
  std::set<std::string> done_;  // paths with their content hashes
  uint64_t removals_ = 0;       // ShardIndexes::removals() when done_ was last valid
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_INDEXES_INDEX_PREFETCH_H_
