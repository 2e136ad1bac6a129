#include "pipeline/plan/owned_keys.h"

#include <algorithm>
#include <iterator>

namespace penstock::plan {

OwnedKeys OwnedKeys::Of(const View& view, const std::string& worker_id) {
  OwnedKeys keys(view.policy);
  const uint32_t worker = view.FindWorker(worker_id);
  if (worker == View::kNobody) return keys;
  for (const ViewRange& range : view.ranges) {
    if (range.owner != worker) continue;
    if (!keys.ranges_.empty() && keys.ranges_.back().second == range.begin) {
      keys.ranges_.back().second = range.end;
    } else {
      keys.ranges_.emplace_back(range.begin, range.end);
    }
  }
  return keys;
}

bool OwnedKeys::Contains(uint64_t key) const {
  const auto next = std::upper_bound(ranges_.begin(), ranges_.end(), key,
                                     [](uint64_t k, const auto& range) { return k < range.first; });
  return next != ranges_.begin() && key < std::prev(next)->second;
}

}  // namespace penstock::plan
