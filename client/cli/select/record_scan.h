// Evaluates the steps of a selection for all records of shards, on several threads.
#ifndef PENSTOCK_CLIENT_CLI_SELECT_RECORD_SCAN_H_
#define PENSTOCK_CLIENT_CLI_SELECT_RECORD_SCAN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/select/row_totals.h"
#include "pipeline/selection/record_filter.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/storage/storage.h"

namespace penstock::cli {

struct ShardToScan {
  std::string path;
  std::shared_ptr<const sources::ShardIndex> index;
  // The shard's matches first_example, first_example + example_stride and so on are examples.
  uint64_t first_example = 0, example_stride = 1;
};

struct ExampleRecord {
  uint64_t record = 0;
  std::vector<std::string> values;  // ValueText() of each feature; empty if one of them is bad
};

struct BadRecord {
  uint64_t record = 0;
  absl::Status error;  // names file and record
};

struct ScannedShard {
  absl::Status failed;  // the error that ended the scan of this shard, if any
  uint64_t records = 0, bad = 0;
  std::vector<uint64_t> matches;                    // by step: the records that it and those before it keep
  uint64_t all_matches = 0;                         // the records that all steps keep
  std::map<std::string, uint64_t> groups;           // if the last step makes groups: records of the first ones
  RowTotals rows = {};                              // if the last step makes rows
  std::vector<ExampleRecord> examples;              // the first matches
  std::vector<std::vector<ExampleRecord>> dropped;  // by step: the first records that it drops
  std::vector<BadRecord> first_bad;                 // the first bad records
};

struct ScanOptions {
  int threads = 1;                                             // shards at once
  uint64_t examples = 0;                                       // at most this many in each shard
  uint64_t bad_examples = 0;                                   // at most this many in each shard
  uint64_t dropped_examples = 0;                               // at most this many of each step in each shard
  std::shared_ptr<const sources::FileAccess> files = nullptr;  // that records name
  // Called with the number of records read so far, by one thread at a time. May be empty.
  std::function<void(uint64_t records)> progress = {};
};

// Returns the results in the order of the shards. A bad record or an unreadable shard does not stop the scan. `storage`
// holds the shards. `features` are those to read, or null for whole records.
std::vector<ScannedShard> ScanRecords(storage::Storage* storage, const std::vector<ShardToScan>& shards,
                                      const selection::RecordFilter& filter, const sources::RequestedFeatures* features,
                                      const ScanOptions& options);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_SELECT_RECORD_SCAN_H_
