#include "server/coordinator/state/view_history.h"

#include <utility>

#include "net/view_delta.h"

namespace penstock::coordinator {

void ViewHistory::Add(const v1::View& before, const v1::View& next, uint64_t revision) {
  if (before.number() != 0) {
    Step step;
    step.since = since_;
    step.delta = net::DeltaBetween(before, next);
    step.bytes = step.delta.ByteSizeLong();
    bytes_ += step.bytes;
    steps_.push_back(std::move(step));
    const size_t whole = next.ByteSizeLong();
    while (!steps_.empty() && bytes_ >= whole) {
      bytes_ -= steps_.front().bytes;
      steps_.pop_front();
    }
  }
  since_ = revision;
}

void ViewHistory::Tell(const v1::View& now, uint64_t base_revision, const v1::HeldJob& held,
                       v1::JobUpdate* update) const {
  if (now.number() == 0) return;
  const bool by_revision = base_revision != 0;
  if (by_revision ? base_revision >= since_ : held.view_term() == now.term() && held.view_number() == now.number()) {
    return;
  }
  auto first = steps_.rbegin();
  for (; first != steps_.rend(); ++first) {
    if (by_revision
            ? first->since <= base_revision
            : first->delta.base_term() == held.view_term() && first->delta.base_number() == held.view_number()) {
      break;
    }
  }
  if (first == steps_.rend()) {
    *update->mutable_view() = now;
    return;
  }
  for (auto step = first.base() - 1; step != steps_.end(); ++step) *update->add_view_deltas() = step->delta;
}

}  // namespace penstock::coordinator
