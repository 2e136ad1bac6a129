// Restores the sending order of messages that arrive over several lanes.
#ifndef PENSTOCK_TRANSPORT_LANES_LANE_ORDER_H_
#define PENSTOCK_TRANSPORT_LANES_LANE_ORDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "transport/lanes/lane.h"
#include "transport/slice.h"

namespace penstock::transport {

// Pure. Not thread-safe. Message numbers increase on each lane. A reader that reads only from lanes without a held
// message therefore always finds the next message, and holds at most one message for each lane.
class LaneOrder {
 public:
  // Adds a message of `lane`, which is less than kMostLanes. Returns false, and adds nothing, if the number was already
  // received or is lower than the lane's last number.
  bool Add(size_t lane, uint64_t number, SliceList message);
  // Returns true if the next message has arrived.
  bool HasNext() const { return !held_.empty() && held_.begin()->first == taken_; }
  // Removes and returns the next message. Requires HasNext().
  SliceList Take();
  // Returns true if messages of `lane` are held.
  bool Holds(size_t lane) const { return lanes_[lane].held > 0; }
  bool empty() const { return held_.empty(); }
  // Returns the number of messages taken so far, which is the number of the next one.
  uint64_t taken() const { return taken_; }
  // Drops the held messages. Numbers continue.
  void Clear();

 private:
  struct Held {
    size_t lane;
    SliceList message;
  };
  struct Lane {
    size_t held = 0;
    uint64_t next = 0;  // the lowest number that the lane may deliver
  };
  std::map<uint64_t, Held> held_;
  std::array<Lane, kMostLanes> lanes_;
  uint64_t taken_ = 0;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_LANES_LANE_ORDER_H_
