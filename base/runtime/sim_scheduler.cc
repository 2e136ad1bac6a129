#include "base/runtime/sim_scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace penstock {

uint64_t SimScheduler::Draw(uint64_t bound) {
  PS_CHECK(bound > 0);
  return static_cast<uint64_t>((static_cast<unsigned __int128>(random_.Next()) * bound) >> 64);
}

TimerId SimScheduler::PostAt(Nanos when, Task task) {
  const Place place{std::max(when, clock_.Now()), random_.Next(), next_++};
  tasks_.emplace(place, std::move(task));
  places_.emplace(place.id, place);
  return place.id;
}

bool SimScheduler::Cancel(TimerId timer) {
  const auto found = places_.find(timer);
  if (found == places_.end()) return false;
  const auto it = tasks_.find(found->second);
  const Task dropped = std::move(it->second);
  tasks_.erase(it);
  places_.erase(found);
  return true;
}

bool SimScheduler::RunOne() {
  if (tasks_.empty()) return false;
  const auto first = tasks_.begin();
  const Place place = first->first;
  Task task = std::move(first->second);
  tasks_.erase(first);
  places_.erase(place.id);
  clock_.Advance(std::max<Nanos>(place.when - clock_.Now(), 0));  // a task may have paused beyond it
  ++run_;
  order_hash_ = (order_hash_ ^ place.id ^ static_cast<uint64_t>(clock_.Now())) * 0x9E3779B97F4A7C15u;
  order_hash_ ^= order_hash_ >> 29;
  std::move(task)();
  return true;
}

bool SimScheduler::RunUntil(absl::FunctionRef<bool()> done, Nanos until) {
  while (!done()) {
    if (tasks_.empty() || tasks_.begin()->first.when > until) {
      clock_.Advance(std::max<Nanos>(until - clock_.Now(), 0));
      return done();
    }
    RunOne();
  }
  return true;
}

void SimScheduler::RunAll() {
  while (RunOne()) {
  }
}

void SimScheduler::RunFor(Nanos length) {
  RunUntil([] { return false; }, clock_.Now() + length);
}

void SimScheduler::DropAll() {
  while (!tasks_.empty()) {
    const auto first = tasks_.begin();
    places_.erase(first->first.id);
    const Task dropped = std::move(first->second);
    tasks_.erase(first);
  }
}

}  // namespace penstock
