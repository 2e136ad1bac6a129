#include "transport/lanes/lane_order.h"

#include <utility>

namespace penstock::transport {

bool LaneOrder::Add(size_t lane, uint64_t number, SliceList message) {
  Lane& from = lanes_[lane];
  if (number < taken_ || number < from.next || held_.count(number) > 0) return false;
  held_.emplace(number, Held{lane, std::move(message)});
  from.next = number + 1;
  ++from.held;
  return true;
}

SliceList LaneOrder::Take() {
  const auto first = held_.begin();
  SliceList message = std::move(first->second.message);
  --lanes_[first->second.lane].held;
  held_.erase(first);
  ++taken_;
  return message;
}

void LaneOrder::Clear() {
  held_.clear();
  for (Lane& lane : lanes_) lane.held = 0;
}

}  // namespace penstock::transport
