// The growth of a counter between two readings.
#ifndef PENSTOCK_BASE_COUNTER_GROWTH_H_
#define PENSTOCK_BASE_COUNTER_GROWTH_H_

namespace penstock {

// Returns by how much a counter, which is never negative, has grown. If it has decreased, returns `now`: the counter's
// process has restarted, and the counter began again at 0.
template <typename T>
T CounterGrowth(T before, T now) {
  if (now >= before) return now - before;
  return now > T{} ? now : T{};
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_COUNTER_GROWTH_H_
