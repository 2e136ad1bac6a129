#include "server/coordinator/state/worker_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock {

using State = v1::WorkerStatus;

void WorkerRegister::Store(const WorkerEntry& worker, Consequences* out) const {
  v1::StoredWorker* stored = out->facts.emplace_back().mutable_put_worker();
  *stored->mutable_registration() = worker.info;
  stored->set_state(worker.state);
  stored->set_rows_per_cpu_second(worker.rows_per_cpu_second);
}

void WorkerRegister::SetState(Nanos now, WorkerEntry* worker, State::State state, Consequences* out) {
  if (worker->state == state) return;
  worker->state = state;
  worker->since = now;
  out->membership = true;
  Store(*worker, out);
}

void WorkerRegister::Strike(Nanos now, WorkerEntry* worker) {
  if (now - worker->struck_at > options_.forgive_after) worker->strikes = 0;
  ++worker->strikes;
  worker->struck_at = now;
}

Nanos WorkerRegister::ReadmitAfter(const WorkerEntry& worker) const {
  return options_.readmit_after << std::clamp(worker.strikes - 1, 0, 5);
}

void WorkerRegister::Restore(Nanos now, const v1::StoredWorker& stored) {
  WorkerEntry& worker = workers_[stored.registration().id()];
  worker.info = stored.registration();
  worker.state = stored.state();
  worker.rows_per_cpu_second = stored.rows_per_cpu_second();
  worker.last_beat = worker.since = now;
}

absl::StatusOr<WorkerRegister::Registered> WorkerRegister::Register(Nanos now, const v1::RegisterWorkerRequest& request,
                                                                    Consequences* out) {
  if (request.id().empty() || request.id().size() > 256) {
    return absl::InvalidArgumentError("RegisterWorker: id must have 1 to 256 bytes");
  }
  if (request.address().empty() || request.address().size() > 512) {
    return absl::InvalidArgumentError(
        absl::StrCat("RegisterWorker: worker ", request.id(), " gives no usable address"));
  }
  if (request.ByteSizeLong() > 65536) {
    return absl::InvalidArgumentError(
        absl::StrCat("RegisterWorker: the registration of worker ", request.id(), " is larger than 64 KiB"));
  }
  Registered result;
  auto found = workers_.find(request.id());
  if (found == workers_.end()) {
    if (workers_.size() >= options_.max_workers) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", workers_.size(), " workers already, which is the limit"));
    }
    WorkerEntry& worker = workers_[request.id()];
    worker.info = request;
    worker.last_beat = worker.since = now;
    worker.struck_at = now;
    out->membership = true;
    Store(worker, out);
    return result;
  }
  WorkerEntry& worker = found->second;
  const bool new_process = worker.info.incarnation() != request.incarnation();
  if (new_process) {
    result.restarted = true;
    // It comes back without having left or having been missed: it crashed.
    if (worker.live() || worker.state == State::DRAINING) Strike(now, &worker);
    worker.drain_ordered = false;
    worker.load.Clear();
  }
  if (worker.info.SerializeAsString() != request.SerializeAsString()) {
    worker.info = request;
    out->membership = true;
    Store(worker, out);
  }
  worker.last_beat = now;
  if (new_process || !worker.Beats()) {
    SetState(now, &worker, Trusted(worker) ? State::LIVE : State::SUSPECT, out);
  }
  return result;
}

WorkerEntry* WorkerRegister::Heartbeat(Nanos now, const v1::HeartbeatRequest& request, Consequences* out) {
  auto found = workers_.find(request.id());
  if (found == workers_.end()) return nullptr;
  WorkerEntry& worker = found->second;
  if (worker.info.incarnation() != request.incarnation()) return nullptr;
  if (worker.state == State::LEFT && !request.leaving()) return nullptr;
  worker.last_beat = now;
  worker.load = request.load();
  if (request.leaving()) {
    SetState(now, &worker, State::LEFT, out);
  } else if (request.draining() || worker.drain_ordered) {
    SetState(now, &worker, State::DRAINING, out);
  } else if (worker.state == State::DEAD) {
    SetState(now, &worker, Trusted(worker) ? State::LIVE : State::SUSPECT, out);
  }
  return &worker;
}

absl::Status WorkerRegister::Drain(Nanos now, const std::string& id, Consequences* out) {
  auto found = workers_.find(id);
  if (found == workers_.end()) {
    std::vector<std::string> ids;
    for (const auto& [name, worker] : workers_) {
      if (worker.Beats()) ids.push_back(name);
    }
    return absl::NotFoundError(
        absl::StrCat("no worker ", id, "; there ", ids.empty() ? "are none" : "are: ", absl::StrJoin(ids, ", ")));
  }
  WorkerEntry& worker = found->second;
  if (!worker.Beats()) {
    return absl::FailedPreconditionError(
        absl::StrCat("worker ", id, " has ", worker.state == State::LEFT ? "left already" : "died; nothing to drain"));
  }
  worker.drain_ordered = true;
  out->wake_workers = true;
  SetState(now, &worker, State::DRAINING, out);
  return absl::OkStatus();
}

void WorkerRegister::RemoveOnReports(Nanos now, const std::string& id, Consequences* out) {
  auto found = workers_.find(id);
  if (found == workers_.end() || !found->second.live()) return;
  Strike(now, &found->second);
  SetState(now, &found->second, State::SUSPECT, out);
}

std::vector<std::string> WorkerRegister::Tick(Nanos now, Consequences* out) {
  std::vector<std::string> died, forgotten;
  const bool paused = last_tick_ >= 0 && now - last_tick_ > options_.dead_after / 2;
  last_tick_ = now;
  for (auto& [id, worker] : workers_) {
    if (worker.Beats()) {
      if (paused) worker.last_beat = now;
      if (now - worker.last_beat > options_.dead_after) {
        Strike(now, &worker);
        SetState(now, &worker, State::DEAD, out);
        died.push_back(id);
      } else if (worker.state == State::SUSPECT && now - worker.since >= ReadmitAfter(worker)) {
        SetState(now, &worker, State::LIVE, out);
      }
    } else if (now - worker.since > options_.forget_after) {
      forgotten.push_back(id);
    }
  }
  for (const std::string& id : forgotten) {
    out->facts.emplace_back().set_delete_worker(id);
    workers_.erase(id);
  }
  WatchCapacity(now, out);
  return died;
}

double WorkerRegister::Capacity(const WorkerEntry& worker) const {
  double rate = worker.rows_per_cpu_second;
  if (rate <= 0) {
    double sum = 0;
    int known = 0;
    for (const auto& [id, other] : workers_) {
      if (!other.live() || other.rows_per_cpu_second <= 0) continue;
      sum += other.rows_per_cpu_second;
      ++known;
    }
    rate = known == 0 ? 1 : sum / known;
  }
  return rate * std::max<uint32_t>(worker.info.threads(), 1);
}

// A measured rate is noisy and moves with the job; shares are corrected only when they are wrong by
// much, for long, and all rates are known.
void WorkerRegister::WatchCapacity(Nanos now, Consequences* out) {
  double used_total = 0, measured_total = 0;
  size_t live = 0;
  bool all_measured = true;
  for (const auto& [id, worker] : workers_) {
    if (!worker.live()) continue;
    ++live;
    const double measured = worker.load.rows_per_cpu_second();
    if (!std::isfinite(measured) || measured <= 0 || measured > 1e12) {
      all_measured = false;
      continue;
    }
    used_total += Capacity(worker);
    measured_total += measured * std::max<uint32_t>(worker.info.threads(), 1);
  }
  bool imbalanced = false;
  if (all_measured && live >= 2) {
    for (const auto& [id, worker] : workers_) {
      if (!worker.live()) continue;
      const double used = Capacity(worker) / used_total;
      const double measured =
          worker.load.rows_per_cpu_second() * std::max<uint32_t>(worker.info.threads(), 1) / measured_total;
      if (measured > used * (1 + options_.capacity_imbalance) || used > measured * (1 + options_.capacity_imbalance)) {
        imbalanced = true;
      }
    }
  }
  if (!imbalanced) {
    imbalanced_since_ = -1;
    return;
  }
  if (imbalanced_since_ < 0) imbalanced_since_ = now;
  if (now - imbalanced_since_ < options_.capacity_patience) return;
  imbalanced_since_ = -1;
  for (auto& [id, worker] : workers_) {
    if (!worker.live()) continue;
    worker.rows_per_cpu_second = worker.load.rows_per_cpu_second();
    Store(worker, out);
  }
  out->membership = true;
}

const WorkerEntry* WorkerRegister::Find(const std::string& id) const {
  auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

std::string WorkerRegister::CommonDigest() const {
  std::map<std::string, int> counts;
  for (const auto& [id, worker] : workers_) {
    if (worker.live()) ++counts[worker.info.conformance_digest()];
  }
  std::string best;
  int most = 0;
  for (const auto& [digest, count] : counts) {
    if (count > most) {
      most = count;
      best = digest;
    }
  }
  return best;
}

size_t WorkerRegister::CountLive() const {
  return std::count_if(workers_.begin(), workers_.end(), [](const auto& entry) { return entry.second.live(); });
}

}  // namespace penstock
