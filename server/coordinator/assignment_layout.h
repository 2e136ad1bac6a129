// Who has which keys, while an assignment is being worked out. Internal to assignment.cc.
#ifndef PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_LAYOUT_H_
#define PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/coordinator/assignment.h"

namespace penstock {

// Keys [begin, end) of one owner, or free.
struct Run {
  uint64_t begin = 0;
  uint64_t end = 0;
  int owner = -1;
  bool operator==(const Run&) const = default;
};

// What a worker should have: weight within [low, high], `ideal` at best.
struct Share {
  double low = 0;
  double ideal = 0;
  double high = 0;
};

// A partition of the key space into runs, adjacent ones of unlike owners, with the load of each owner.
class Layout {
 public:
  static constexpr int kFree = -1;

  // All free, for owners 0 .. owners - 1. `weights` must outlive the layout.
  Layout(const KeyWeights* weights, size_t owners);

  void Assign(uint64_t begin, uint64_t end, int owner);

  const std::vector<Run>& runs() const { return runs_; }
  double load(size_t owner) const { return loads_[owner]; }
  double Weight(const Run& run) const { return weights_->Between(run.begin, run.end); }
  // The weight that has another owner in `next`; free keys count as an owner's of their own.
  double MovedTo(const Layout& next) const;

 private:
  const KeyWeights* weights_;
  std::vector<Run> runs_;
  std::vector<double> loads_;
};

// Brings every owner inside its share with the fewest keys changing hands: trims the overloaded, takes from the most
// loaded what the underloaded lack, gives free keys to the underloaded, then to the neighbors, then to whoever has
// most room. May leave owners with several runs. sum(low) <= total <= sum(high).
void Patch(const KeyWeights& weights, const std::vector<Share>& shares, Layout* layout);

// One run for each owner in `order` (not empty), each inside its share, with borders as near as that allows to where
// they are in `before`. The shares are scaled to the whole when not all owners are in `order`.
Layout Contiguous(const KeyWeights& weights, const std::vector<Share>& shares, const std::vector<int>& order,
                  const Layout& before);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_ASSIGNMENT_LAYOUT_H_
