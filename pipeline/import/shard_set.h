// Writes the records of a source as TFRecord shards: in parallel, in a fixed order, resumable.
#ifndef PENSTOCK_PIPELINE_IMPORT_SHARD_SET_H_
#define PENSTOCK_PIPELINE_IMPORT_SHARD_SET_H_

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/import/record_source.h"
#include "pipeline/import/shard_state.h"
#include "pipeline/storage/storage.h"

namespace penstock::imports {

struct ShardSetProgress {
  uint64_t items_done = 0, items_total = 0;  // including those of earlier runs
  uint64_t records = 0, bytes = 0;           // written, including those of earlier runs
  uint64_t shards = 0;                       // finished shards
};

struct ShardSetOptions {
  std::string folder;
  // Shards are named PREFIX-00000.tfrecord and so on. 1 to 128 letters, digits, '-', '_' and '.', with no dot in front.
  std::string prefix = "data";
  // A shard ends before the record that would make its file larger than this. One record always fits.
  uint64_t shard_bytes = uint64_t{128} << 20;
  int threads = 1;
  // Permutes all items by `seed`; otherwise keeps the source's order.
  bool shuffle = false;
  uint64_t seed = 0;
  // Leaves out and lists bad items; otherwise the first one ends the run.
  bool skip_bad = false;
  uint64_t window_bytes = uint64_t{256} << 20;  // records that wait for an earlier one
  // Source and method of the shards, in words for the user. A folder can be continued only if these, the options above
  // (except threads, window_bytes and skip_bad) and the source's fingerprint are equal.
  std::vector<std::pair<std::string, std::string>> arguments;
  // Runs after each record and at the end, on threads of the run or on the caller's, one call at a time. May be empty.
  std::function<void(const ShardSetProgress&)> progress;
  // A stop ends the run with Cancelled, as an error would, unless all records are written.
  std::stop_token stop = {};
};

struct ShardSetResult {
  ShardState state;             // complete
  uint64_t resumed_shards = 0;  // shards that earlier runs had finished
};

// Checks the options. InvalidArgument: an invalid prefix, or a size of 0.
absl::Status CheckShardOptions(const ShardSetOptions& options);

// Writes all items, or nothing if an earlier run has written them. The files depend only on source, prefix, size, order
// and seed, not on the threads or on how often the run was killed. A shard appears under its name when it is complete
// and on disk. After an error the finished shards stay, and a later call with the same options continues after them. If
// there are none, the folder is left as it was. Returns the errors of CheckShardOptions(), of ShardFolder::Open() and
// of writes (they name the file). Without skip_bad, also returns the error of the first bad item in order.
// InvalidArgument also if there are no items, or all of them are bad.
absl::StatusOr<ShardSetResult> WriteShards(storage::Storage* storage, const RecordSource& source,
                                           const ShardSetOptions& options);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_SHARD_SET_H_
