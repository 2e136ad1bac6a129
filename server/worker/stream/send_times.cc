#include "server/worker/stream/send_times.h"

#include <algorithm>

namespace penstock::worker {
namespace {

constexpr size_t kMostIdleJobs = 64;

}  // namespace

void JobSends::Change(int streams, int full, Nanos now) {
  MutexLock lock(&mutex_);
  sums_.streams += static_cast<uint32_t>(streams);
  if (full == 0) return;
  // Concurrent threads may report times out of order.
  if (full_ > 0) sums_.full += full_ * std::max<Nanos>(0, now - since_);
  since_ = std::max(since_, now);
  full_ += full;
}

void JobSends::Sent(uint64_t bytes, Nanos took) {
  MutexLock lock(&mutex_);
  sums_.bytes += bytes;
  sums_.sending += took;
}

JobSends::Sums JobSends::Get(Nanos now) const {
  MutexLock lock(&mutex_);
  Sums sums = sums_;
  if (full_ > 0) sums.full += full_ * std::max<Nanos>(0, now - since_);
  return sums;
}

std::shared_ptr<JobSends> SendTimes::Of(const std::string& job) {
  MutexLock lock(&mutex_);
  if (jobs_.size() >= kMostIdleJobs) {
    std::erase_if(jobs_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  std::shared_ptr<JobSends>& sends = jobs_[job];
  if (sends == nullptr) sends = std::make_shared<JobSends>();
  return sends;
}

std::map<std::string, JobSends::Sums> SendTimes::Get(Nanos now) const {
  std::map<std::string, JobSends::Sums> sums;
  MutexLock lock(&mutex_);
  for (const auto& [job, sends] : jobs_) sums.emplace(job, sends->Get(now));
  return sums;
}

}  // namespace penstock::worker
