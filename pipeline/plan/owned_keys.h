// The keys of a view that belong to one worker.
#ifndef PENSTOCK_PIPELINE_PLAN_OWNED_KEYS_H_
#define PENSTOCK_PIPELINE_PLAN_OWNED_KEYS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/plan/view.h"

namespace penstock::plan {

// Its memory grows with the worker's ranges in the view, not with the data.
class OwnedKeys {
 public:
  // Returns the keys that the worker with this id owns, without those for which it is the backup. `view` must be valid.
  // A worker that the view lacks owns none.
  static OwnedKeys Of(const View& view, const std::string& worker_id);

  AssignPolicy policy() const { return policy_; }
  // O(log ranges).
  bool Contains(uint64_t key) const;

 private:
  explicit OwnedKeys(AssignPolicy policy) : policy_(policy) {}

  AssignPolicy policy_;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;  // [begin, end), sorted, not adjacent
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_OWNED_KEYS_H_
