// A selection of the records of shards. Its implementation knows the features of records (pipeline/selection).
#ifndef PENSTOCK_PIPELINE_SOURCES_RECORD_SELECTION_H_
#define PENSTOCK_PIPELINE_SOURCES_RECORD_SELECTION_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/sources/shard_reader.h"

namespace penstock::sources {

struct SelectedRecords {
  std::vector<uint32_t> numbers;  // ascending
  IndexGroups groups = {};        // a selection that makes groups sets the group of each record
  bool is_packed = false;         // a selection that packs records sets `packs`, whose records count only selected ones
  plan::RecordPacks packs = {};
  // A selection that makes windows sets them. Their records count only selected ones.
  std::shared_ptr<const plan::RecordWindows> windows = nullptr;
  // Records that are bad, so that the selection leaves them out. `first_bad` names file and record.
  uint64_t bad = 0;
  absl::Status first_bad;
};

// Immutable, thread-safe.
class RecordSelection {
 public:
  virtual ~RecordSelection() = default;

  // Identifies the selection. Selections with equal ids select the same records of a shard, in every release.
  virtual uint64_t id() const = 0;
  // Reads all records of the shard, and returns those that are selected. Errors name file and record:
  //   DataLoss, InvalidArgument  a record is bad, and the selection does not leave out bad records
  //   ResourceExhausted          the shard has more than 2^32 records
  //   Cancelled                  `stop`
  //   others                     from the reader
  virtual absl::StatusOr<SelectedRecords> Select(const ShardReader& reader, const std::stop_token& stop) const = 0;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_RECORD_SELECTION_H_
