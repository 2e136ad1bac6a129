// Splits records, which arrive in order, into shards of a limited size.
#ifndef PENSTOCK_PIPELINE_IMPORT_SHARD_CUTTER_H_
#define PENSTOCK_PIPELINE_IMPORT_SHARD_CUTTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/import/record_source.h"
#include "pipeline/import/shard_folder.h"
#include "pipeline/import/shard_state.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"
#include "pipeline/storage/storage.h"

namespace penstock::imports {

struct ShardCutterOptions {
  std::string prefix = "data";
  // A shard ends before the record that would make its file larger than this. One record always fits.
  uint64_t shard_bytes = uint64_t{128} << 20;
  // Returns the note that the folder's state keeps with a finished shard. Called when a shard is complete. May be
  // empty.
  std::function<std::string()> note;
};

// Not thread-safe. Continues after the finished shards of the folder. A shard appears under its name, and in the
// folder's state, when it is complete and on disk. The destructor removes an unfinished shard.
class ShardCutter {
 public:
  // `storage` and `folder` must outlive this object.
  ShardCutter(storage::Storage* storage, ShardCutterOptions options, ShardFolder* folder);

  // Finishes the open shard if a record of this size does not fit into it.
  absl::Status MakeRoom(size_t record_bytes);
  // Makes room for a record, and appends it.
  absl::Status Write(std::string_view record, ImageTreatment treatment = ImageTreatment::kKept);
  // Counts an item that is in no shard. The message joins the folder's state with the next finished shard.
  void Skip(std::string message);
  // Finishes the open shard, if there is one.
  absl::Status FinishShard();

  // Removes the open shard, after an error.
  void Discard() { writer_.reset(); }

  // Returns the messages of items that were skipped after the last finished shard.
  const std::vector<std::string>& skipped() const { return skipped_; }
  // Returns the sums of items, records and bytes over all shards, including those of earlier runs and the open one.
  FinishedShard Sums() const;

 private:
  storage::Storage* const storage_;
  const ShardCutterOptions options_;
  ShardFolder* const folder_;
  std::unique_ptr<sources::TFRecordWriter> writer_;
  FinishedShard before_;  // sums over the finished shards
  FinishedShard shard_;   // the open shard
  std::vector<std::string> skipped_;
};

// Returns "data-00012.tfrecord", for example.
std::string ShardName(const std::string& prefix, uint64_t number);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_SHARD_CUTTER_H_
