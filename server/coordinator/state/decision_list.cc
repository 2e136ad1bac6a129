#include "server/coordinator/state/decision_list.h"

#include <algorithm>
#include <iterator>

namespace penstock::coordinator {

bool DecisionList::Add(uint64_t record) {
  if (!set_.insert(record).second) return false;
  order_.push_back(record);
  return true;
}

void DecisionList::Publish(uint64_t revision) {
  const uint64_t published = published_.empty() ? 0 : published_.back().second;
  if (order_.size() > published) published_.emplace_back(revision, order_.size());
}

uint64_t DecisionList::SizeAt(uint64_t revision) const {
  const auto later = std::upper_bound(published_.begin(), published_.end(), revision,
                                      [](uint64_t a, const auto& b) { return a < b.first; });
  return later == published_.begin() ? 0 : std::prev(later)->second;
}

void DecisionList::Tell(uint64_t known, v1::JobUpdate* update) const {
  update->mutable_record()->set_decided_records(order_.size());
  if (known > order_.size()) known = 0;  // these decisions are from the store of another coordinator
  if (known == order_.size()) return;
  update->mutable_decided()->set_begin(known);
  update->mutable_decided()->mutable_records()->Add(order_.begin() + static_cast<int64_t>(known), order_.end());
}

}  // namespace penstock::coordinator
