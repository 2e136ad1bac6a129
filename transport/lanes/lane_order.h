// Messages that came over several lanes, in the order in which they were sent.
#ifndef PENSTOCK_TRANSPORT_LANES_LANE_ORDER_H_
#define PENSTOCK_TRANSPORT_LANES_LANE_ORDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "transport/lanes/lane.h"
#include "transport/slice.h"

namespace penstock {

// Pure. Not thread-safe. Numbers grow on each lane, so that whoever reads on only from lanes that hold nothing here
// always finds the next message, and keeps one message a lane at most.
class LaneOrder {
 public:
  // A message of `lane` (below kMostLanes). False, with nothing kept, where its number was there before, or is smaller
  // than the lane's last.
  bool Add(size_t lane, uint64_t number, SliceList message);
  // Whether the next one is there.
  bool HasNext() const { return !held_.empty() && held_.begin()->first == taken_; }
  // It. HasNext() before.
  SliceList Take();
  // Whether messages of that lane wait here.
  bool Holds(size_t lane) const { return lanes_[lane].held > 0; }
  bool empty() const { return held_.empty(); }
  // How many were taken, which is the number of the next one.
  uint64_t taken() const { return taken_; }
  void Clear();

 private:
  struct Held {
    size_t lane;
    SliceList message;
  };
  struct Lane {
    size_t held = 0;
    uint64_t next = 0;  // the least number that it may bring
  };
  std::map<uint64_t, Held> held_;
  std::array<Lane, kMostLanes> lanes_;
  uint64_t taken_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_LANES_LANE_ORDER_H_
