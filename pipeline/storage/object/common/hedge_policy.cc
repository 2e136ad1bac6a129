#include "pipeline/storage/object/common/hedge_policy.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace penstock::storage {

int HedgePolicy::LikeOf(size_t bytes) { return std::bit_width(bytes) / 2; }

Nanos HedgePolicy::LateAfter(size_t bytes) const {
  const auto like = likes_.find(LikeOf(bytes));
  if (like == likes_.end() || like->second.took.size() < options_.known) return kNever;
  return std::max(options_.floor, options_.times * like->second.nearly_all);
}

bool HedgePolicy::Ask(size_t bytes, Nanos begun, size_t under_way, size_t late) {
  if (under_way > 1 && (newest_ <= begun || late * 4 > std::max<size_t>(4, under_way))) return false;
  const auto like = likes_.find(LikeOf(bytes));
  if (like == likes_.end() || like->second.earned < options_.one_in) return false;
  like->second.earned -= options_.one_in;
  return true;
}

void HedgePolicy::Answered(size_t bytes, Nanos begun, Nanos took) {
  newest_ = std::max(newest_, begun);
  Like& like = likes_[LikeOf(bytes)];
  like.took.push_back(took);
  if (like.took.size() > kRemembered) like.took.pop_front();
  std::vector<Nanos> sorted(like.took.begin(), like.took.end());
  const auto nearly_all = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) * 19 / 20);
  std::nth_element(sorted.begin(), nearly_all, sorted.end());
  like.nearly_all = *nearly_all;
  like.earned = std::min(like.earned + 1, options_.saved * options_.one_in);
}

}  // namespace penstock::storage
