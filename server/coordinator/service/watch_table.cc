#include "server/coordinator/service/watch_table.h"

namespace penstock::coordinator {

void WatchTable::Add(uint64_t id, const std::string& job, Nanos due) {
  watches_[id] = {job, due, false};
  by_job_[job].insert(id);
  by_due_.emplace(due, id);
  Mark(id);
}

void WatchTable::Remove(uint64_t id) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  by_due_.erase({found->second.due, id});
  const auto followers = by_job_.find(found->second.job);
  followers->second.erase(id);
  if (followers->second.empty()) by_job_.erase(followers);
  watches_.erase(found);
}

void WatchTable::Mark(uint64_t id) {
  Watch& watch = watches_.at(id);
  if (watch.concerned) return;
  watch.concerned = true;
  by_due_.erase({watch.due, id});
  concerned_.push_back(id);
}

void WatchTable::JobChanged(const std::string& job) {
  const auto followers = by_job_.find(job);
  if (followers != by_job_.end()) {
    for (const uint64_t id : followers->second) Mark(id);
  }
  WakeAllJobs();
}

void WatchTable::WakeAllJobs() {
  const auto followers = by_job_.find("");
  if (followers == by_job_.end()) return;
  for (const uint64_t id : followers->second) Mark(id);
}

std::optional<uint64_t> WatchTable::TakeConcerned() {
  while (!concerned_.empty()) {
    const uint64_t id = concerned_.front();
    concerned_.pop_front();
    const auto found = watches_.find(id);
    if (found == watches_.end() || !found->second.concerned) continue;
    found->second.concerned = false;
    by_due_.emplace(found->second.due, id);
    return id;
  }
  return std::nullopt;
}

std::optional<uint64_t> WatchTable::TakeDue(Nanos now) {
  if (by_due_.empty() || by_due_.begin()->first > now) return std::nullopt;
  const uint64_t id = by_due_.begin()->second;
  Remove(id);
  return id;
}

bool WatchTable::IsDue(uint64_t id, Nanos now) const {
  const auto found = watches_.find(id);
  return found != watches_.end() && found->second.due <= now;
}

}  // namespace penstock::coordinator
