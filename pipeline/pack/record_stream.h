// Writes records as shards while they arrive, and continues a killed run.
#ifndef PENSTOCK_PIPELINE_PACK_RECORD_STREAM_H_
#define PENSTOCK_PIPELINE_PACK_RECORD_STREAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/batch/dtype.h"
#include "pipeline/import/shard_cutter.h"
#include "pipeline/import/shard_folder.h"
#include "pipeline/pack/pack_input.h"
#include "pipeline/pack/pack_schema.h"
#include "pipeline/pack/packed_features.h"
#include "pipeline/storage/storage.h"

namespace penstock::pack {

struct RecordStreamOptions {
  std::string folder;
  std::string prefix = "data";
  uint64_t shard_bytes = uint64_t{128} << 20;
  // The source and its options, in words for the user. A folder can be continued only if these, prefix and size are
  // equal.
  std::vector<std::pair<std::string, std::string>> arguments;
  // The input repeats the records of finished shards, which are compared by a hash. Otherwise it begins after them.
  bool replay = false;
};

// Not thread-safe. The shards depend only on the records, prefix and size, not on how often the run was killed.
class RecordStream {
 public:
  // Opens the folder for a new run, or continues an earlier one. Returns the errors of ShardFolder::Open().
  static absl::StatusOr<std::unique_ptr<RecordStream>> Open(storage::Storage* storage, RecordStreamOptions options);

  // Returns the state of the folder.
  const imports::ShardState& state() const { return folder_->state(); }

  // Takes a record, or the type of a column. Errors name the record:
  //   InvalidArgument     it is no record, or its features contradict earlier ones
  //   FailedPrecondition  replayed records differ from those of the finished shards
  //   others              from the storage
  absl::Status Take(const PackFrame& frame);
  // Finishes the last shard, and writes the job file `job` into the folder. InvalidArgument: there are no
  // records, or none has a value.
  absl::Status Finish(const std::string& job_name, const std::string& files, const std::string& job);
  // Ends a run that failed: removes the folder's state if no shard is finished. Returns `failed`, or the error of
  // ShardFolder::Abandon().
  absl::Status Abandon(absl::Status failed);

 private:
  RecordStream(storage::Storage* storage, RecordStreamOptions options, std::unique_ptr<imports::ShardFolder> folder);
  // Reads the note of a state: hash and schema of the finished records.
  absl::Status ReadNote();
  std::string Note() const;
  absl::Status TakeRecord(const PackFrame& frame);
  absl::Status CompareReplayed() const;

  storage::Storage* const storage_;
  const RecordStreamOptions options_;
  const std::unique_ptr<imports::ShardFolder> folder_;
  const uint64_t finished_;  // records of earlier runs
  uint64_t finished_hash_ = 0;
  imports::ShardCutter shards_;
  PackSchema schema_;
  uint64_t taken_ = 0;  // records that the shards and the input have
  uint64_t hash_ = 0;   // hash of these records
  std::map<std::string, batch::DType> casts_;
  PackedValues values_;
};

}  // namespace penstock::pack

#endif  // PENSTOCK_PIPELINE_PACK_RECORD_STREAM_H_
