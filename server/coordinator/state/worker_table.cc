#include "server/coordinator/state/worker_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/utf8.h"
#include "server/coordinator/explain/observed.h"
#include "server/coordinator/state/event_log.h"

namespace penstock::coordinator {

using State = v1::WorkerStatus;

namespace {

constexpr char kDrainOrdered[] = "by `penstock drain`";
constexpr char kNotTrusted[] = "it was lost repeatedly, so it must first send heartbeats steadily: ";
constexpr int kMostRejected = 16;
constexpr size_t kMostRejectedBytes = 512;
constexpr int kMostFindings = 64;
constexpr size_t kMostCheckBytes = 128;
constexpr size_t kMostFindingBytes = 768;

// Removes the elements beyond the first `most`.
template <typename Messages>
void Shorten(int most, Messages* messages) {
  if (messages->size() > most) messages->DeleteSubrange(most, messages->size() - most);
}

// Clears the current load of a worker that is gone, and keeps its totals.
void ForgetWork(WorkerEntry* worker) {
  worker->load.clear_troubles();
  worker->rejected.Clear();
  worker->findings.Clear();
  worker->load.set_rows_per_second(0);
  worker->load.set_sessions(0);
  worker->load.set_memory_bytes(0);
}

v1::HistoryEvent::Kind EventOfState(State::State state) {
  switch (state) {
    case State::LIVE:
      return v1::HistoryEvent::WORKER_JOINED;
    case State::DRAINING:
      return v1::HistoryEvent::WORKER_DRAINS;
    case State::LEFT:
      return v1::HistoryEvent::WORKER_LEFT;
    default:
      return v1::HistoryEvent::WORKER_LOST;
  }
}

std::string JoinText(const WorkerEntry& worker) {
  return absl::StrCat(worker.name, " at ", worker.info.address(), ", penstock ", worker.info.version(), ", ",
                      worker.info.threads(), " threads");
}

// Adds an event for each caller in `now` that is not in `before`.
void AddRejections(const std::string& worker, const google::protobuf::RepeatedPtrField<v1::RejectedCaller>& before,
                   const google::protobuf::RepeatedPtrField<v1::RejectedCaller>& now, Consequences* out) {
  for (const v1::RejectedCaller& caller : now) {
    const bool known = std::any_of(before.begin(), before.end(), [&caller](const v1::RejectedCaller& other) {
      return other.host() == caller.host() && other.name() == caller.name() && other.reason() == caller.reason();
    });
    if (!known) out->events.push_back(RejectionOf(caller, worker));
  }
}

std::string Ago(Nanos age) {
  const Nanos seconds = std::max<Nanos>(age, 0) / kSecond;
  if (seconds < 120) return absl::StrCat(seconds, " s ago");
  return seconds < 7200 ? absl::StrCat(seconds / 60, " min ago") : absl::StrCat(seconds / 3600, " h ago");
}

}  // namespace

void WorkerRegister::SetInfo(WorkerEntry* worker, const v1::RegisterWorkerRequest& info) const {
  worker->info = info;
  SetName(worker);
}

void WorkerRegister::SetName(WorkerEntry* worker) const {
  const v1::RegisterWorkerRequest& info = worker->info;
  worker->name = info.name().empty() ? info.id() : info.name();
  for (const auto& [id, other] : workers_) {
    if (&other == worker || !other.Beats() || other.name != worker->name) continue;
    absl::StrAppend(&worker->name, " (", info.id(), ")");
    return;
  }
}

void WorkerRegister::Store(const WorkerEntry& worker, Consequences* out) const {
  v1::StoredWorker* stored = out->hints.emplace_back().mutable_put_worker();
  *stored->mutable_registration() = worker.info;
  stored->set_state(worker.state);
  stored->set_capacity(worker.capacity);
  if (worker.owner.has_value()) stored->set_owner(worker.owner->name);
}

void WorkerRegister::StoreMember(const WorkerEntry& worker, Consequences* out) const {
  out->membership = true;
  out->members[worker.info.id()] = {worker.name, worker.info.address(), worker.state};
  Store(worker, out);
}

void WorkerRegister::SetState(Nanos now, WorkerEntry* worker, State::State state, std::string why, Consequences* out) {
  if (worker->state == state) return;
  if (state == State::DEAD && worker->state != State::DRAINING && !worker->lost_since.has_value()) {
    worker->lost_since = now;
  }
  worker->state = state;
  worker->since = now;
  worker->voted_out = false;
  if (!worker->Beats()) ForgetWork(worker);
  out->events.push_back(EventOf(EventOfState(state), "", worker->info.id(), std::move(why)));
  StoreMember(*worker, out);
}

void WorkerRegister::Forgive(Nanos now, WorkerEntry* worker) const {
  while (!worker->strikes.empty() && now - worker->strikes.front() > options_.forgive_after)
    worker->strikes.pop_front();
}

void WorkerRegister::Strike(Nanos now, WorkerEntry* worker) {
  Forgive(now, worker);
  worker->strikes.push_back(now);
  if (worker->strikes.size() > kRememberedStrikes) worker->strikes.pop_front();
}

bool WorkerRegister::Trusted(Nanos now, WorkerEntry* worker) const {
  Forgive(now, worker);
  return worker->strikes.size() < kTrustedStrikes;
}

// The first two removals cost little, because a link may fail briefly. A worker that leaves and rejoins repeatedly is
// excluded for longer, because each time its missing rows delay the window of every session.
Nanos WorkerRegister::ReadmitAt(const WorkerEntry& worker) const {
  const size_t doublings = worker.strikes.size() <= 2 ? 0 : std::min<size_t>(worker.strikes.size() - 2, 20);
  const Nanos out = std::min(options_.readmit_most, options_.readmit_after << doublings);
  return std::max(worker.since, worker.steady_since) + out;
}

size_t WorkerRegister::CountStrikes(Nanos now, const WorkerEntry& worker) const {
  return std::count_if(worker.strikes.begin(), worker.strikes.end(),
                       [&](Nanos at) { return now - at <= options_.forgive_after; });
}

std::string WorkerRegister::WhyLost(Nanos now, const WorkerEntry& worker) const {
  if (worker.state != State::DEAD && worker.state != State::SUSPECT) return "";
  const bool silent = now - worker.last_beat > options_.dead_after / 2;
  if (worker.state == State::DEAD || silent) {
    return absl::StrCat("lost ", Ago(now - worker.last_beat), ": no heartbeat since then");
  }
  const Nanos left = std::max<Nanos>(ReadmitAt(worker) - now, 0);
  const size_t times = std::max<size_t>(CountStrikes(now, worker), 1);
  return absl::StrCat("lost ", Ago(now - worker.since), ": unreachable or restarted ",
                      times == 1 ? "once" : absl::StrCat(times, " times"), " in the last ",
                      options_.forgive_after / (60 * kSecond), " minutes; it serves again in ",
                      (left + kSecond - 1) / kSecond, " s if its heartbeats continue");
}

void WorkerRegister::Restore(Nanos now, const v1::StoredWorker& stored) {
  WorkerEntry& worker = workers_[stored.registration().id()];
  SetInfo(&worker, stored.registration());
  worker.state = stored.state();
  worker.capacity = stored.capacity();
  if (!stored.owner().empty()) {
    worker.owner = transport::Peer::Network(stored.registration().address());
    worker.owner->name = stored.owner();
  }
  worker.last_beat = worker.since = worker.steady_since = now;
  if (worker.state != State::LEFT && worker.state != State::DRAINING) worker.lost_since = now;
}

absl::StatusOr<WorkerRegister::Registered> WorkerRegister::Register(Nanos now, const v1::RegisterWorkerRequest& request,
                                                                    const transport::Peer& owner, Consequences* out) {
  if (request.id().empty() || request.id().size() > 256) {
    return absl::InvalidArgumentError("RegisterWorker: id must have 1 to 256 bytes");
  }
  if (request.address().empty() || request.address().size() > 512) {
    return absl::InvalidArgumentError(
        absl::StrCat("RegisterWorker: worker ", request.id(), " gives no usable address"));
  }
  if (request.local().size() > 512) {
    return absl::InvalidArgumentError(
        absl::StrCat("RegisterWorker: worker ", request.id(), " gives a local address of more than 512 bytes"));
  }
  if (request.name().size() > 256) {
    return absl::InvalidArgumentError(
        absl::StrCat("RegisterWorker: worker ", request.id(), " gives a name of more than 256 bytes"));
  }
  if (request.tls_name().size() > 256) {
    return absl::InvalidArgumentError(
        absl::StrCat("RegisterWorker: worker ", request.id(), " gives a tls_name of more than 256 bytes"));
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
    SetInfo(&worker, request);
    worker.owner = owner;
    worker.last_beat = worker.since = worker.steady_since = now;
    StoreMember(worker, out);
    out->events.push_back(EventOf(v1::HistoryEvent::WORKER_JOINED, "", request.id(), JoinText(worker)));
    return result;
  }
  WorkerEntry& worker = found->second;
  const bool new_process = worker.info.incarnation() != request.incarnation();
  if (new_process) {
    result.restarted = true;
    // The worker is back without having left or died: it crashed.
    if (worker.live() || worker.state == State::DRAINING) {
      Strike(now, &worker);
      out->events.push_back(EventOf(v1::HistoryEvent::WORKER_LOST, "", request.id(),
                                    "it crashed or was killed: another process registered before it left"));
    }
    worker.drain_ordered = false;
    worker.load.Clear();
    worker.history = {};
  }
  const bool new_owner = !worker.owner.has_value() || worker.owner->name != owner.name;
  worker.owner = owner;
  if (new_owner || !worker.Beats() || worker.info.SerializeAsString() != request.SerializeAsString()) {
    SetInfo(&worker, request);
    StoreMember(worker, out);
  }
  worker.last_beat = worker.steady_since = now;
  worker.lost_since.reset();
  if (new_process || !worker.Beats()) {
    const bool trusted = Trusted(now, &worker);
    if (trusted && worker.live()) {
      out->events.push_back(EventOf(v1::HistoryEvent::WORKER_JOINED, "", request.id(), JoinText(worker)));
    }
    SetState(now, &worker, trusted ? State::LIVE : State::SUSPECT,
             trusted ? JoinText(worker) : absl::StrCat(kNotTrusted, JoinText(worker)), out);
  }
  return result;
}

absl::Status WorkerRegister::MayServe(const std::string& id, const transport::Peer& caller, bool registers) const {
  const auto found = workers_.find(id);
  if (found == workers_.end() || !found->second.owner.has_value()) return absl::OkStatus();
  if (registers && !found->second.Beats()) return absl::OkStatus();
  const transport::Ownership owned{id, *found->second.owner};
  return options_.may_act({transport::Act::kServe, id, caller}, &owned);
}

WorkerEntry* WorkerRegister::Heartbeat(Nanos now, const v1::HeartbeatRequest& request, Consequences* out) {
  auto found = workers_.find(request.id());
  if (found == workers_.end()) return nullptr;
  WorkerEntry& worker = found->second;
  if (worker.info.incarnation() != request.incarnation()) return nullptr;
  if (worker.state == State::LEFT && !request.leaving()) return nullptr;
  // Longer than between two heartbeats of a large fleet, including the first (beat_rhythm.h).
  if (now - worker.last_beat > options_.dead_after / 4 * 3) worker.steady_since = now;
  worker.last_beat = now;
  worker.lost_since.reset();
  const v1::Tuning& before = worker.load.tuning();
  const v1::Tuning& tuning = request.load().tuning();
  if (worker.load.has_tuning() && tuning.changes() > before.changes()) {
    out->events.push_back(EventOf(v1::HistoryEvent::TUNING, "", request.id(), tuning.last_change()));
  }
  AddRejections(request.id(), worker.rejected, request.rejected(), out);
  worker.load = request.load();
  worker.rejected = request.rejected();
  Shorten(kMostRejected, &worker.rejected);
  for (v1::RejectedCaller& caller : worker.rejected) {
    for (std::string* text :
         {caller.mutable_host(), caller.mutable_name(), caller.mutable_reason(), caller.mutable_message()}) {
      TruncateUtf8(text, kMostRejectedBytes);
    }
  }
  worker.findings = request.findings();
  Shorten(kMostFindings, &worker.findings);
  for (v1::Finding& finding : worker.findings) {
    TruncateUtf8(finding.mutable_check(), kMostCheckBytes);
    TruncateUtf8(finding.mutable_message(), kMostFindingBytes);
  }
  if (worker.state == State::DEAD) SetName(&worker);  // another worker may have its name by now
  worker.clock_ahead_ms = request.unix_ms() == 0 ? 0 : request.unix_ms() - options_.unix_ms();
  worker.history.Add(now, CountsOf(request.load()));
  if (worker.state == State::LEFT) ForgetWork(&worker);  // it reports again that it leaves
  if (request.leaving()) {
    SetState(now, &worker, State::LEFT, "it stopped", out);
  } else if (request.draining() || worker.drain_ordered) {
    SetState(now, &worker, State::DRAINING, worker.drain_ordered ? kDrainOrdered : "its process stops", out);
  } else if (worker.state == State::DEAD) {
    const bool trusted = Trusted(now, &worker);
    SetState(now, &worker, trusted ? State::LIVE : State::SUSPECT,
             absl::StrCat(trusted ? "" : kNotTrusted, "its heartbeats are back"), out);
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
  SetState(now, &worker, State::DRAINING, kDrainOrdered, out);
  return absl::OkStatus();
}

void WorkerRegister::RemoveOnReports(Nanos now, const std::string& id, Consequences* out) {
  auto found = workers_.find(id);
  if (found == workers_.end() || !found->second.live()) return;
  Strike(now, &found->second);
  SetState(now, &found->second, State::SUSPECT, "most of its readers cannot reach it", out);
  found->second.voted_out = true;
}

std::vector<std::string> WorkerRegister::Tick(Nanos now, bool trainers_wait, Consequences* out) {
  std::vector<std::string> died, forgotten;
  const bool paused = last_tick_ >= 0 && now - last_tick_ > options_.dead_after / 2;
  last_tick_ = now;
  for (auto& [id, worker] : workers_) {
    if (worker.Beats()) {
      if (paused) worker.last_beat = now;
      if (now - worker.last_beat > options_.dead_after) {
        Strike(now, &worker);
        SetState(now, &worker, State::DEAD, absl::StrCat("no heartbeat for ", options_.dead_after / kSecond, " s"),
                 out);
        died.push_back(id);
      } else if (worker.state == State::SUSPECT && now >= ReadmitAt(worker) &&
                 now - worker.last_beat <= options_.dead_after / 2) {
        SetState(now, &worker, State::LIVE, "readmitted after steady heartbeats", out);
      }
    } else if (now - worker.since > options_.forget_after) {
      forgotten.push_back(id);
    }
  }
  for (const std::string& id : forgotten) {
    out->hints.emplace_back().set_delete_worker(id);
    workers_.erase(id);
  }
  WatchCapacity(now, trainers_wait, out);
  return died;
}

double WorkerRegister::Capacity(const WorkerEntry& worker) const {
  if (worker.capacity > 0) return worker.capacity;
  double known = 0, threads = 0;
  for (const auto& [id, other] : workers_) {
    if (!other.live() || other.capacity <= 0) continue;
    known += other.capacity;
    threads += std::max<uint32_t>(other.info.threads(), 1);
  }
  return (threads > 0 ? known / threads : 1) * std::max<uint32_t>(worker.info.threads(), 1);
}

void WorkerRegister::WatchCapacity(Nanos now, bool trainers_wait, Consequences* out) {
  if (now - last_look_ < options_.heartbeat / 4) return;
  last_look_ = now;
  std::vector<CapacityWatch::Worker> live;
  for (const auto& [id, worker] : workers_) {
    if (!worker.live()) continue;
    live.push_back({id, static_cast<double>(worker.info.threads()), worker.capacity, worker.load.capacity(),
                    trainers_wait ? worker.load.owing_fraction() : 0});
  }
  const std::map<std::string, double> capacities = capacity_watch_.Look(now, live);
  if (capacities.empty()) return;
  for (const auto& [id, capacity] : capacities) {
    WorkerEntry& worker = workers_.at(id);
    if (worker.capacity == capacity) continue;
    worker.capacity = capacity;
    Store(worker, out);
  }
  out->membership = out->rebalance = true;
}

const WorkerEntry* WorkerRegister::Find(const std::string& id) const {
  auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

const std::string& WorkerRegister::NameOf(const std::string& id) const {
  const auto found = workers_.find(id);
  return found == workers_.end() ? id : found->second.name;
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

}  // namespace penstock::coordinator
