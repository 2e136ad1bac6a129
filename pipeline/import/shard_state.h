// The progress of a run that writes shards into a folder. If the run is killed, the next run continues from it.
#ifndef PENSTOCK_PIPELINE_IMPORT_SHARD_STATE_H_
#define PENSTOCK_PIPELINE_IMPORT_SHARD_STATE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/import/record_source.h"

namespace penstock::imports {

// Name of the state file in the folder. The file is hidden, so that no glob matches it as a shard.
constexpr std::string_view kShardStateName = ".penstock-shards";

struct FinishedShard {
  std::string name;      // name within the folder
  uint64_t items = 0;    // items of the source that the shard covers, including skipped ones
  uint64_t records = 0;  // records in the file
  uint64_t bytes = 0;    // size of the file
  // Records by ImageTreatment.
  std::array<uint64_t, kImageTreatments> treated = {};

  bool operator==(const FinishedShard&) const = default;
};

struct ShardState {
  // Arguments that determine the content of the shards, as (name, value): ("quality", "90"). A run continues only a
  // state with the same arguments.
  std::vector<std::pair<std::string, std::string>> arguments;
  std::vector<FinishedShard> shards;  // in order, without gaps
  std::vector<std::string> skipped;   // one message for each bad item that is in no shard
  bool complete = false;              // no item is left to process
  // Text of the run's owner about the records of the finished shards, or "".
  std::string note;
  // In a bucket, the id of the run that wrote the state; otherwise "". Buckets have no locks: a run recognizes its own
  // state by the tag of the bytes. So states of different runs must have different bytes.
  std::string run;

  // Return sums over the finished shards.
  uint64_t Items() const;
  uint64_t Records() const;
  uint64_t Bytes() const;
  bool operator==(const ShardState&) const = default;

  // Returns the state as text for ParseShardState(), with one fact on each line.
  std::string Serialize() const;
};

// Parses the text of Serialize(). Returns DataLoss if the text is damaged or has another version.
absl::StatusOr<ShardState> ParseShardState(std::string_view text);

// Returns OK if both states have the same arguments, in any order. Otherwise returns FailedPrecondition, with the name
// and both values of each argument that differs.
absl::Status SameArguments(const ShardState& then, const ShardState& now);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_SHARD_STATE_H_
