// The owners of keys during an assignment. Internal to assignment.cc.
#ifndef PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_LAYOUT_H_
#define PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/coordinator/assignment.h"

namespace penstock::coordinator {

// Keys [begin, end) of one owner, or free keys.
struct Run {
  uint64_t begin = 0;
  uint64_t end = 0;
  int owner = -1;
  bool operator==(const Run&) const = default;
};

// A worker's share: a weight within [low, high], ideally `ideal`.
struct Share {
  double low = 0;
  double ideal = 0;
  double high = 0;
};

// A partition of the key space into runs, with the load of each owner. Adjacent runs have different owners.
class Layout {
 public:
  static constexpr int kFree = -1;

  // Creates a layout of free keys for owners 0 .. owners - 1. `weights` must outlive the layout.
  Layout(const KeyWeights* weights, size_t owners);

  void Assign(uint64_t begin, uint64_t end, int owner);

  const std::vector<Run>& runs() const { return runs_; }
  double load(size_t owner) const { return loads_[owner]; }
  double Weight(const Run& run) const { return weights_->Between(run.begin, run.end); }
  // Returns the weight of the keys that have another owner in `next`. Free keys count as keys of a separate owner.
  double MovedTo(const Layout& next) const;

 private:
  const KeyWeights* weights_;
  std::vector<Run> runs_;
  std::vector<double> loads_;
};

// Moves every owner into its share with as few moved keys as possible. It trims overloaded owners, and takes keys from
// the most loaded ones for the underloaded. Free keys go to the underloaded, then to neighbors, then to the owner with
// the smallest load relative to its share. Owners may end up with several runs. Requires sum(low) <= total <=
// sum(high).
void Patch(const KeyWeights& weights, const std::vector<Share>& shares, Layout* layout);

// Returns a layout with at most one run for each owner in `order` (not empty), each inside its share up to the rounding
// of borders to whole records. An owner has no run if its part rounds to no record. Borders are as close as possible to
// those in `before`. If `order` does not have all owners, their shares grow in proportion to cover all keys. The result
// keeps a pointer to `weights`, which must outlive it.
Layout Contiguous(const KeyWeights& weights, const std::vector<Share>& shares, const std::vector<int>& order,
                  const Layout& before);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_LAYOUT_H_
