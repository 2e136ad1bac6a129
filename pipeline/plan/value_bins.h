// Parts of a data set that is sorted by a value: the quantiles of its records.
#ifndef PENSTOCK_PIPELINE_PLAN_VALUE_BINS_H_
#define PENSTOCK_PIPELINE_PLAN_VALUE_BINS_H_

#include <cstdint>
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

// Divides values into at most `bins` bins of neighbors with about equal numbers of records. Records with one value are
// in one bin, so a common value has a bin to itself. bins == 0: each value is a bin. `values` are keys
// (base/ordered_key.h), ascending, each once; records[i] > 0 is the number of records with values[i]. The same in every
// release with plan version 2.
ValueBins MakeBins(std::span<const std::string> values, std::span<const uint64_t> records, uint32_t bins);

// Adds the numbers of a shard's records to those of all shards, by group.
void AddRecords(const ShardGroups& shard, std::vector<uint64_t>* records);

// Replaces the numbers of a shard's values by those of their bins.
void MergeIntoBins(const ValueBins& bins, ShardGroups* shard);

// Returns the values of a bin as text, such as "12 to 17".
std::string_view BinText(std::string_view name);

// Returns whether each of `merged`, in turn, is the sum of the next ones of `counts`, and none is left over.
bool AreSumsOf(std::span<const uint32_t> merged, std::span<const uint32_t> counts);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_VALUE_BINS_H_
