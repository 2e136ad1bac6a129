// Limits how often each of many keys may do something.
#ifndef PENSTOCK_BASE_RUNTIME_RATE_TABLE_H_
#define PENSTOCK_BASE_RUNTIME_RATE_TABLE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/runtime/clock.h"

namespace penstock {

// Each key may act `per_second` times a second on average, and `burst` times at once after a pause. Not thread-safe.
// Takes constant memory: at most `most_keys` keys have an allowance of their own at once, and all others share one.
class RateTable {
 public:
  RateTable(double per_second, double burst, size_t most_keys = 4096)
      : per_second_(per_second), burst_(burst), most_keys_(most_keys) {}

  // Returns whether `key` may act at `now`, and counts it if so. `now` must not decrease.
  bool Take(std::string_view key, Nanos now);

 private:
  struct Allowance {
    double left;
    Nanos at;  // time of `left`
  };
  double LeftOf(const Allowance& allowance, Nanos now) const;
  Allowance& Find(std::string_view key, Nanos now);

  const double per_second_, burst_;
  const size_t most_keys_;
  std::map<std::string, Allowance, std::less<>> allowances_;  // by key; "": of all keys that do not fit
  Nanos cleaned_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_RATE_TABLE_H_
