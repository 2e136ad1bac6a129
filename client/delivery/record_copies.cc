#include "client/delivery/record_copies.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace penstock::client {
namespace {

using State = TrackedWorker::State;

bool IsLost(const TrackedWorker& worker) { return worker.state == State::kBroken || worker.state == State::kRetrying; }

}  // namespace

std::string_view HostOf(std::string_view address) { return address.substr(0, address.rfind(':')); }

bool RecordCopies::Decide(uint64_t record) {
  decided_.insert(record);
  return records_.erase(record) > 0;
}

void RecordCopies::AddRow(uint64_t record, Nanos now) {
  PS_CHECK(!decided(record));
  const auto [it, fresh] = records_.try_emplace(record);
  if (fresh) it->second.since = now;
  ++it->second.rows;
}

void RecordCopies::RemoveRow(uint64_t record) {
  const auto it = records_.find(record);
  if (it != records_.end() && --it->second.rows == 0) records_.erase(it);
}

void RecordCopies::Answered(uint64_t record, uint32_t worker, Copy copy, std::string message, Nanos now) {
  Record& of = records_.at(record);
  if (of.answers.empty()) of.since = now;
  const auto [it, fresh] = of.answers.try_emplace(worker);
  // Three equal reads of a damaged copy are final, whatever the storage does later.
  if (!fresh && it->second.copy == Copy::kDamaged) return;
  it->second = {copy, now};
  if (copy != Copy::kDamaged) return;
  if (of.damaged++ == 0) of.message = std::move(message);
}

bool RecordCopies::Forget(uint64_t record) {
  const auto it = records_.find(record);
  if (it == records_.end()) return false;
  it->second.answers.clear();
  it->second.damaged = 0;
  it->second.needs_decision = false;
  return true;
}

bool RecordCopies::MayAsk(uint64_t record, uint32_t worker, Nanos now) const {
  const auto it = records_.find(record);
  if (it == records_.end()) return true;
  const Record& of = it->second;
  if (of.damaged >= kEnoughCopies) return false;
  const auto answer = of.answers.find(worker);
  if (answer == of.answers.end()) return true;
  return answer->second.copy == Copy::kUnreadable && now - answer->second.at >= kAskAgainAfter;
}

bool RecordCopies::FoundDamagedOn(uint64_t record, std::string_view host, const WorkerTable& workers) const {
  const auto it = records_.find(record);
  if (it == records_.end()) return false;
  return std::any_of(it->second.answers.begin(), it->second.answers.end(), [&](const auto& answer) {
    return answer.second.copy == Copy::kDamaged && HostOf(workers[answer.first].address) == host;
  });
}

std::string RecordCopies::MessageOf(uint64_t record) const {
  const auto it = records_.find(record);
  return it == records_.end() ? "" : it->second.message;
}

bool RecordCopies::MarkForDecision(uint64_t record) {
  const auto it = records_.find(record);
  if (it == records_.end() || it->second.damaged == 0 || it->second.needs_decision) return false;
  return it->second.needs_decision = true;
}

bool RecordCopies::needs_decision(uint64_t record) const {
  const auto it = records_.find(record);
  return it != records_.end() && it->second.needs_decision;
}

std::vector<RecordCopies::Wait> RecordCopies::WaitsFor(const Record& record, const WorkerTable& workers, Nanos now) {
  std::vector<Wait> waits;
  if (record.damaged >= kEnoughCopies) return waits;
  for (const uint32_t i : workers.in_view()) {
    const TrackedWorker& worker = workers[i];
    const auto answer = record.answers.find(i);
    const bool answered = answer != record.answers.end();
    if (answered && answer->second.copy != Copy::kUnreadable) continue;
    if (worker.draining && !worker.answers()) continue;  // it has left
    if (IsLost(worker)) {
      if (now - worker.lost_at < kWaitForWorker) waits.push_back({i, Wait::Why::kLost});
    } else if (answered) {
      if (now - record.since < kWaitForWorker) waits.push_back({i, Wait::Why::kStorage});
    } else if (!worker.suspect || now - std::max(worker.last_heard, record.since) < kWaitForWorker) {
      waits.push_back({i, Wait::Why::kAnswer});
    }
  }
  return waits;
}

std::vector<RecordCopies::Wait> RecordCopies::WaitsFor(uint64_t record, const WorkerTable& workers, Nanos now) const {
  const auto it = records_.find(record);
  return it == records_.end() ? std::vector<Wait>() : WaitsFor(it->second, workers, now);
}

std::vector<uint64_t> RecordCopies::FindBad(const WorkerTable& workers, Nanos now) const {
  std::vector<uint64_t> bad;
  for (const auto& [number, record] : records_) {
    if (!record.needs_decision) continue;
    // Decide only while a worker that found its copy damaged is reachable.
    const bool live = std::any_of(record.answers.begin(), record.answers.end(), [&](const auto& answer) {
      return answer.second.copy == Copy::kDamaged && !IsLost(workers[answer.first]);
    });
    if (live && WaitsFor(record, workers, now).empty()) bad.push_back(number);
  }
  return bad;
}

}  // namespace penstock::client
