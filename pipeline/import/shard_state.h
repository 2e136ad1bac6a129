// Progress of a folder of new shards, from which a run continues after it was killed.
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

// Name of the state file in the folder. Hidden, so that no glob matches it as a shard.
constexpr std::string_view kShardStateName = ".penstock-shards";

struct FinishedShard {
  std::string name;      // name within the folder
  uint64_t items = 0;    // items that it consumed, including skipped ones
  uint64_t records = 0;  // records in the file
  uint64_t bytes = 0;    // size of the file
  std::array<uint64_t, kImageTreatments> treated = {};

  bool operator==(const FinishedShard&) const = default;
};

struct ShardState {
  // Source and method of the shards, as (name, value): "quality", "90". Another value means another set of shards.
  std::vector<std::pair<std::string, std::string>> arguments;
  std::vector<FinishedShard> shards;  // in order, without gaps
  std::vector<std::string> skipped;   // one message for each bad item that the finished shards left out
  bool complete = false;              // the shards contain all items
  // Id of the run that wrote the state, in a bucket, where it is the only mark: states of different runs never have the
  // same bytes.
  std::string run;

  uint64_t Items() const;
  uint64_t Records() const;
  uint64_t Bytes() const;
  bool operator==(const ShardState&) const = default;

  // Returns text of lines, one fact each, which ParseShardState() reads.
  std::string Serialize() const;
};

// Parses the text of Serialize(). DataLoss: the text is damaged or of another version.
absl::StatusOr<ShardState> ParseShardState(std::string_view text);

// Returns OK if both have the same arguments. Otherwise FailedPrecondition with each that differs and both its values.
absl::Status SameArguments(const ShardState& then, const ShardState& now);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_SHARD_STATE_H_
