#include "pipeline/plan/batch_cut.h"

#include <algorithm>

#include "base/check.h"

namespace penstock::plan {

BatchCut::BatchCut(std::span<const uint64_t> rows, std::span<const uint64_t> limits, uint64_t multiple)
    : multiple_(multiple) {
  PS_CHECK(rows.size() == limits.size() && multiple > 0);
  uint64_t open = 0;   // rows of the open batch
  uint64_t limit = 0;  // limit of its rows, which are fewer
  for (size_t group = 0; group < rows.size(); ++group) {
    PS_CHECK(limits[group] >= multiple && limits[group] % multiple == 0);
    rows_ += rows[group];
    if (rows[group] == 0) continue;
    if (open >= limits[group]) {
      Add(open / multiple * multiple, 1);
      open %= multiple;
    }
    limit = open == 0 ? limits[group] : std::min(limit, limits[group]);
    uint64_t left = rows[group];
    if (open > 0 && open + left >= limit) {
      left -= limit - open;
      Add(limit, 1);
      open = 0;
    }
    if (open == 0) {
      limit = limits[group];
      Add(limit, left / limit);
      left %= limit;
    }
    open += left;
  }
  if (open >= multiple) Add(open / multiple * multiple, 1);
  rest_ = open % multiple;
}

void BatchCut::Add(uint64_t rows, uint64_t count) {
  if (count == 0) return;
  if (runs_.empty() || runs_.back().rows != rows) {
    const uint64_t begin = runs_.empty() ? 0 : runs_.back().begin + (batches_ - runs_.back().first) * runs_.back().rows;
    runs_.push_back({batches_, begin, rows});
  }
  batches_ += count;
  largest_ = std::max(largest_, rows);
}

BatchCut::Batch BatchCut::At(uint64_t batch) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), batch,
                                      [](uint64_t number, const Run& run) { return number < run.first; });
  const Run& run = *std::prev(after);
  return {run.begin + (batch - run.first) * run.rows, run.rows};
}

uint64_t BatchCut::BatchOf(uint64_t row) const {
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), row, [](uint64_t at, const Run& run) { return at < run.begin; });
  const Run& run = *std::prev(after);
  return run.first + (row - run.begin) / run.rows;
}

}  // namespace penstock::plan
