// Parts of a data set that is sorted by a value: the quantiles of its records.
#ifndef PENSTOCK_PIPELINE_PLAN_VALUE_BINS_H_
#define PENSTOCK_PIPELINE_PLAN_VALUE_BINS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plan/record_groups.h"

namespace penstock::plan {

// The bin of each value, and the bins' names, ascending.
struct ValueBins {
  std::vector<uint32_t> of_value;
  std::vector<std::string> names;
};

// How values are divided into bins.
struct BinRule {
  uint32_t bins = 0;  // limit of the bins, which have about equal numbers of records; 0: each value is a bin
  std::vector<double> bounds =
      {};  // if not empty, in the place of `bins`: a bin for each bucket (BucketOf) with values
};

// Divides values into bins of neighbors. Records with one value are in one bin, so a common value has a bin to itself.
// `values` are keys (base/ordered_key.h), ascending, each once; records[i] > 0 is the number of records with values[i].
// With bounds, a value that is no number is in the first bucket. The same in every release with plan version 2.
ValueBins MakeBins(std::span<const std::string> values, std::span<const uint64_t> records, const BinRule& rule);

// Adds the numbers of a shard's records to those of all shards, by group.
void AddRecords(const ShardGroups& shard, std::vector<uint64_t>* records);

// Replaces the numbers of a shard's values by those of their bins.
void MergeIntoBins(const ValueBins& bins, ShardGroups* shard);

// Returns the values of a bin as text, such as "12 to 17".
std::string_view BinText(std::string_view name);
// Returns the greatest value of a bin, or nullopt if it is no finite number.
std::optional<double> GreatestOfBin(std::string_view name);

// Returns whether each of `merged`, in turn, is the sum of the next ones of `counts`, and none is left over.
bool AreSumsOf(std::span<const uint32_t> merged, std::span<const uint32_t> counts);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_VALUE_BINS_H_
