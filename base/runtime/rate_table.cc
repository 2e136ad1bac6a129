#include "base/runtime/rate_table.h"

#include <algorithm>

namespace penstock {

double RateTable::LeftOf(const Allowance& allowance, Nanos now) const {
  return std::min(burst_, allowance.left + InSeconds(now - allowance.at) * per_second_);
}

RateTable::Allowance& RateTable::Find(std::string_view key, Nanos now) {
  if (const auto found = allowances_.find(key); found != allowances_.end()) return found->second;
  if (allowances_.size() >= most_keys_ && now - cleaned_ >= kSecond) {
    cleaned_ = now;
    std::erase_if(allowances_, [&](const auto& entry) { return LeftOf(entry.second, now) >= burst_; });
  }
  if (allowances_.size() >= most_keys_) key = "";
  return allowances_.try_emplace(std::string(key), Allowance{burst_, now}).first->second;
}

bool RateTable::Take(std::string_view key, Nanos now) {
  Allowance& allowance = Find(key, now);
  allowance = {LeftOf(allowance, now), now};
  if (allowance.left < 1) return false;
  --allowance.left;
  return true;
}

}  // namespace penstock
