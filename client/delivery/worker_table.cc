#include "client/delivery/worker_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace penstock::client {

std::vector<uint64_t> WorkerTable::Update(const plan::View& view) {
  std::vector<uint64_t> moved;
  std::vector<bool> was_there;
  for (TrackedWorker& worker : workers_) was_there.push_back(std::exchange(worker.in_view, false));
  in_view_.clear();
  for (const plan::ViewWorker& named : view.workers) {
    const auto [it, fresh] = by_id_.try_emplace(named.id, static_cast<uint32_t>(workers_.size()));
    if (fresh) {
      workers_.emplace_back();
      workers_.back().id = named.id;
      workers_.back().backoff = kFirstBackoff;
    }
    TrackedWorker& worker = workers_[it->second];
    if (worker.address != named.address) {
      if (worker.has_stream()) {
        moved.push_back(worker.stream);
        Closed(it->second);
      }
      worker.address = named.address;
      worker.state = TrackedWorker::State::kIdle;
      worker.draining = false;
    }
    worker.name = named.name.empty() ? named.id : named.name;
    worker.local = named.local;  // for future streams; an open one stays
    worker.tls_name = named.tls_name;
    if (!fresh && !was_there[it->second]) {
      worker.failed = false;
      worker.backoff = kFirstBackoff;
      worker.retry_at = 0;
    }
    worker.in_view = true;
    in_view_.push_back(it->second);
  }
  for (const plan::ViewRange& range : view.ranges) workers_[in_view_[range.owner]].draining = false;
  return moved;
}

uint32_t WorkerTable::Find(const std::string& id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? kNoWorker : it->second;
}

uint32_t WorkerTable::OfStream(uint64_t stream) const {
  const auto it = by_stream_.find(stream);
  return it == by_stream_.end() ? kNoWorker : it->second;
}

uint64_t WorkerTable::Open(uint32_t worker) {
  TrackedWorker& w = workers_[worker];
  PS_CHECK(!w.has_stream());
  w.stream = next_stream_++;
  w.state = w.state == TrackedWorker::State::kBroken ? TrackedWorker::State::kRetrying : TrackedWorker::State::kOpening;
  w.suspect = false;
  w.first_row = -1;
  w.fetches = 0;
  w.view_term = w.view_number = 0;
  by_stream_[w.stream] = worker;
  return w.stream;
}

void WorkerTable::Heard(uint32_t worker, Nanos now) {
  TrackedWorker& w = workers_[worker];
  w.state = TrackedWorker::State::kUp;
  w.suspect = false;
  w.last_heard = now;
}

void WorkerTable::Broken(uint32_t worker, absl::Status error, Nanos now) {
  TrackedWorker& w = workers_[worker];
  by_stream_.erase(w.stream);
  w.stream = 0;
  if (w.state != TrackedWorker::State::kRetrying) w.lost_at = now;
  w.state = TrackedWorker::State::kBroken;
  w.suspect = w.slow = false;
  w.failed = true;
  w.fetches = 0;
  w.last_error = std::move(error);
  w.retry_at = now + w.backoff;
  w.backoff = std::min(2 * w.backoff, kMaxBackoff);
}

void WorkerTable::Closed(uint32_t worker) {
  TrackedWorker& w = workers_[worker];
  by_stream_.erase(w.stream);
  w.stream = 0;
  w.state = TrackedWorker::State::kIdle;
  w.suspect = false;
  w.fetches = 0;
}

}  // namespace penstock::client
