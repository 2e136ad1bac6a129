#include "client/cli/trace/clock_fit.h"

#include <algorithm>
#include <map>
#include <utility>

namespace penstock::cli {

std::vector<Nanos> FitClocks(const std::vector<ClockBounds>& bounds, const std::vector<SeenMessage>& messages) {
  // Lower bound of offsets[to] - offsets[from] for each pair: the largest of its messages.
  std::map<std::pair<size_t, size_t>, Nanos> apart;
  for (const SeenMessage& message : messages) {
    const auto [it, first] = apart.try_emplace({message.from, message.to}, message.sent - message.received);
    if (!first) it->second = std::max(it->second, message.sent - message.received);
  }
  // Each pair narrows the bounds of both processes until nothing changes. This takes as many rounds as there are
  // processes, unless the messages contradict each other (Bellman and Ford). Then the lower bounds together satisfy
  // every pair, and so do the upper bounds and the midpoints.
  std::vector<ClockBounds> left = bounds;
  bool moved = true;
  for (size_t round = 0; round <= bounds.size() && moved; ++round) {
    moved = false;
    for (const auto& [pair, least] : apart) {
      ClockBounds& from = left[pair.first];
      ClockBounds& to = left[pair.second];
      const Nanos up = std::min(from.least + least, bounds[pair.second].most);
      const Nanos down = std::max(to.most - least, bounds[pair.first].least);
      moved = moved || up > to.least || down < from.most;
      to.least = std::max(to.least, up);
      from.most = std::min(from.most, down);
    }
  }
  std::vector<Nanos> offsets;
  for (size_t p = 0; p < bounds.size(); ++p) {
    const Nanos middle = left[p].least + (left[p].most - left[p].least) / 2;
    offsets.push_back(std::clamp(middle, bounds[p].least, bounds[p].most));
  }
  return offsets;
}

}  // namespace penstock::cli
