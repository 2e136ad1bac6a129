// Writing the records of a source as TFRecord shards: parallel, in a fixed order, resumable.
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

namespace penstock {

struct ShardSetProgress {
  uint64_t items_done = 0, items_total = 0;  // those of earlier runs among them
  uint64_t records = 0, bytes = 0;           // written, those of earlier runs among them
  uint64_t shards = 0;                       // finished
};

struct ShardSetOptions {
  std::string folder;
  // Shards are called PREFIX-00000.tfrecord and so on. Letters, digits, '-', '_', '.', no dot in front.
  std::string prefix = "data";
  // A shard ends before the record that would make its file larger than this; one record always fits.
  uint64_t shard_bytes = uint64_t{128} << 20;
  int threads = 1;
  // A permutation of all items by `seed`, or the source's own order.
  bool shuffle = false;
  uint64_t seed = 0;
  // Bad items are left out and listed; else the first one ends the run.
  bool skip_bad = false;
  uint64_t window_bytes = uint64_t{256} << 20;  // made records that wait for an earlier one
  // What the shards are made of and how, in words for the user. With the options above (but threads, window and
  // skip_bad) and the source's fingerprint it decides whether a folder may be gone on with.
  std::vector<std::pair<std::string, std::string>> arguments;
  // Called from the threads, one call at a time. May be empty.
  std::function<void(const ShardSetProgress&)> progress;
  // Ends the run with Cancelled, as an error would; unless all is written.
  std::stop_token stop = {};
};

struct ShardSetResult {
  ShardState state;             // complete
  uint64_t resumed_shards = 0;  // that an earlier run had finished
};

// InvalidArgument: a prefix that is no name, a size of 0.
absl::Status CheckShardOptions(const ShardSetOptions& options);

// Writes all items. The files depend on source, prefix, size, order and seed alone: not on the threads, and not on how
// often the run was killed on its way. A shard appears under its name when it is whole and on the disk. On an error
// the finished shards stay, so that a later call with the same options goes on behind them; when there is none, the
// folder is left as it was found.
//   errors of ShardFolder::Open, of writing (they name the file), and of the first bad item in order
absl::StatusOr<ShardSetResult> WriteShards(const RecordSource& source, const ShardSetOptions& options);

// "data-00012.tfrecord"
std::string ShardName(const std::string& prefix, uint64_t number);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_SHARD_SET_H_
