// How far a folder of new shards has come: what a killed run goes on from.
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

namespace penstock {

// The state's file in the folder. Hidden, so that no glob takes it for a shard.
constexpr std::string_view kShardStateName = ".penstock-shards";

struct FinishedShard {
  std::string name;      // in the folder
  uint64_t items = 0;    // that it used up, those that were skipped among them
  uint64_t records = 0;  // that it holds
  uint64_t bytes = 0;    // of the file
  std::array<uint64_t, kImageTreatments> treated = {};

  bool operator==(const FinishedShard&) const = default;
};

struct ShardState {
  // What the shards are made of and how, as (name, value): "quality", "90". Another value is another set of shards.
  std::vector<std::pair<std::string, std::string>> arguments;
  std::vector<FinishedShard> shards;  // in order, without a gap
  std::vector<std::string> skipped;   // one message for each bad item that the finished shards left out
  bool complete = false;              // all items are in the shards
  // Which process wrote it, where nothing else keeps two apart: no two states of different runs are the same bytes.
  std::string run;

  uint64_t Items() const;
  uint64_t Records() const;
  uint64_t Bytes() const;
  bool operator==(const ShardState&) const = default;

  // A text of lines, one fact each; ParseShardState reads it back.
  std::string Serialize() const;
};

// DataLoss when the text is damaged or of another version.
absl::StatusOr<ShardState> ParseShardState(std::string_view text);

// OK when both were begun with the same arguments; else FailedPrecondition with each that differs and both its values.
absl::Status SameArguments(const ShardState& then, const ShardState& now);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_SHARD_STATE_H_
