// Counts the rows of each data set that a reader has delivered.
#ifndef PENSTOCK_CLIENT_ASSEMBLY_DATASET_COUNTS_H_
#define PENSTOCK_CLIENT_ASSEMBLY_DATASET_COUNTS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "penstock/stats.h"
#include "pipeline/plan/data_order.h"
#include "pipeline/plan/steps.h"

namespace penstock::client {

// Not thread-safe.
class DatasetCounts {
 public:
  explicit DatasetCounts(std::shared_ptr<const plan::DataOrder> order)
      : order_(std::move(order)), rows_(order_->has_names() ? order_->sets() : 0, 0) {}

  // Adds the rows of a batch, by the numbers of their data sets. It has none if the data sets have no names.
  void Add(absl::Span<const int32_t> datasets) {
    for (const int32_t set : datasets) ++rows_[static_cast<size_t>(set)];
  }
  // Returns the counts, with the passes at `cursor`. Empty if the data sets have no names.
  std::vector<DatasetStats> At(const plan::Cursor& cursor) const {
    std::vector<DatasetStats> stats;
    if (rows_.empty()) return stats;
    const std::vector<plan::SetProgress> progress = order_->ProgressAt(cursor);
    for (uint32_t set = 0; set < rows_.size(); ++set) {
      stats.push_back({order_->set_name(set), rows_[set], progress[set].passes});
    }
    return stats;
  }

 private:
  const std::shared_ptr<const plan::DataOrder> order_;
  std::vector<uint64_t> rows_;  // by data set
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_ASSEMBLY_DATASET_COUNTS_H_
