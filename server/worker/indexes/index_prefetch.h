// Fetching indexes before rows need them.
#ifndef PENSTOCK_SERVER_WORKER_INDEXES_INDEX_PREFETCH_H_
#define PENSTOCK_SERVER_WORKER_INDEXES_INDEX_PREFETCH_H_

#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/records/dataset_files.h"
#include "server/worker/indexes/shard_indexes.h"

namespace penstock {

// The shards of a ready job, by number and in order, that its view makes this worker owner or backup of. Pure.
std::vector<int> ShardsToServe(const v1::Job& job, const std::string& worker_id);

// Brings the indexes of those shards into the worker's own store, so that neither a move of ranges nor the loss of
// another worker, nor of the coordinator, leaves rows waiting for an index. Not thread-safe.
class IndexPrefetch {
 public:
  IndexPrefetch(std::string worker_id, std::vector<DataRoot> roots, ShardIndexes* indexes)
      : worker_id_(std::move(worker_id)), roots_(std::move(roots)), indexes_(indexes) {}

  // Blocks; ends between two shards once it is to stop. False: some could not be had just now; run it again after a
  // while. Other errors are left to the rows that will meet them.
  bool Run(const v1::Job& job, const std::stop_token& stop = {});

 private:
  const std::string worker_id_;
  const std::vector<DataRoot> roots_;
  ShardIndexes* const indexes_;
  std::set<std::string> done_;  // paths with their content hash
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_INDEXES_INDEX_PREFETCH_H_
