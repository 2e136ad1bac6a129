#include "server/coordinator/state/record_inquiries.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/fault.h"
#include "base/utf8.h"
#include "server/coordinator/state/quarantine.h"

namespace penstock::coordinator {

using Check = v1::RecordCheck;

void RecordInquiries::SetWorkers(Nanos now, const std::vector<Worker>& workers) {
  std::set<uint32_t> beat;
  std::map<std::string, std::vector<std::tuple<bool, std::string, uint32_t>>> by_host;
  for (const Worker& worker : workers) {
    const bool lost = worker.lost_since.has_value();
    if (lost && now - *worker.lost_since >= kPatience) continue;
    const auto [known, is_new] = by_id_.try_emplace(worker.id, static_cast<uint32_t>(workers_.size()));
    if (is_new) workers_.emplace_back().id = worker.id;
    if (!lost) beat.insert(known->second);
    const std::string host = worker.host.empty() ? "\n" + worker.id : worker.host;
    by_host[host].emplace_back(lost, worker.id, known->second);
  }
  // The first worker of each host, then the second of each host, and so on. Within a round, lost workers are last.
  std::vector<std::tuple<size_t, bool, std::string, uint32_t>> ordered;
  for (auto& [host, there] : by_host) {
    std::sort(there.begin(), there.end());
    for (size_t i = 0; i < there.size(); ++i) {
      ordered.emplace_back(i, std::get<0>(there[i]), host, std::get<2>(there[i]));
    }
  }
  std::sort(ordered.begin(), ordered.end());
  order_.clear();
  for (const auto& [round, lost, host, worker] : ordered) order_.push_back(worker);
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    Asked& worker = workers_[i];
    const bool present = beat.contains(i);
    if (worker.present && !present) {
      ++worker.round;
      worker.queue.clear();
      worker.retries.clear();
      DropBatch(&worker);
    }
    worker.present = present;
  }
}

RecordInquiries::Inquiry* RecordInquiries::OpenInquiry(Nanos now, uint64_t record) {
  auto found = inquiries_.find(record);
  if (found == inquiries_.end()) {
    if (inquiries_.size() >= kMostOpen) return nullptr;
    found = inquiries_.try_emplace(record).first;
    touched_.push_back(record);
  }
  found->second.wanted = now;
  return &found->second;
}

RecordInquiries::Verdict RecordInquiries::Ask(Nanos now, uint64_t record) {
  Inquiry* const inquiry = OpenInquiry(now, record);
  const bool intact = inquiry != nullptr && inquiry->intact_since.has_value();
  return intact ? Verdict::kIntact : Verdict::kOpen;
}

void RecordInquiries::Confirm(Nanos now, uint64_t record) {
  if (inquiries_.size() >= kMostOpen / 2 && !inquiries_.contains(record)) return;
  Inquiry* const inquiry = OpenInquiry(now, record);
  inquiry->confirm = true;
  inquiry->intact_since.reset();
  touched_.push_back(record);
}

RecordInquiries::Copy* RecordInquiries::FindCopy(Inquiry* inquiry, uint32_t worker) {
  for (Copy& copy : inquiry->copies) {
    if (copy.worker == worker) return &copy;
  }
  return nullptr;
}

bool RecordInquiries::IsOverdue(Nanos now, const Copy& copy) const {
  if (now - copy.asked < kPatience) return false;
  if (copy.state == Check::UNREADABLE) return true;
  const std::optional<Batch>& batch = workers_[copy.worker].batch;
  return copy.state == Check::COPY_UNSPECIFIED && batch.has_value() && now - batch->since >= kPatience;
}

RecordInquiries::Copy* RecordInquiries::Question(Nanos now, uint64_t record, Inquiry* inquiry, uint32_t worker) {
  Asked& asked = workers_[worker];
  Copy* copy = FindCopy(inquiry, worker);
  if (!asked.present || (copy != nullptr && (copy->answered() || copy->round == asked.round))) return copy;
  if (copy == nullptr) copy = &inquiry->copies.emplace_back();
  *copy = {worker, asked.round, Check::COPY_UNSPECIFIED, now};
  asked.queue.insert(record);
  return copy;
}

bool RecordInquiries::Judge(Nanos now, uint64_t record, Inquiry* inquiry, Progress* progress) {
  if (inquiry->intact_since.has_value()) return now - *inquiry->intact_since >= kIntactFor;
  if (!inquiry->confirm && now - inquiry->wanted >= kWantedFor) return true;
  size_t counted = 0, damaged = 0;
  bool complete = true;
  for (const uint32_t worker : order_) {
    if (counted == kMostWorkers) break;
    const Copy* const copy = Question(now, record, inquiry, worker);
    if (copy != nullptr && (copy->state == Check::NO_FILE || IsOverdue(now, *copy))) continue;
    ++counted;
    damaged += copy != nullptr && copy->state == Check::DAMAGED ? 1 : 0;
    complete = complete && copy != nullptr && copy->answered();
  }
  const bool bad = inquiry->confirm ? damaged > 0 : complete && damaged > 0;
  if (bad) {
    v1::BadRecord& out = progress->damaged.emplace_back();
    out.set_record(record);
    out.set_reason(inquiry->reason.empty() ? std::string(FaultName(Fault::kWrongCrc)) : inquiry->reason);
    out.set_message(inquiry->message);
    if (inquiry->offset.has_value()) out.set_offset(*inquiry->offset);
    if (inquiry->number.has_value()) out.set_number_in_shard(*inquiry->number);
    out.set_every_copy(true);
  }
  return bad || (inquiry->confirm && complete && counted > 0);
}

bool RecordInquiries::GiveBatch(Nanos now, uint32_t index, absl::FunctionRef<uint64_t()> new_batch_id) {
  Asked& worker = workers_[index];
  if (!worker.present || worker.batch.has_value()) return false;
  while (!worker.retries.empty() && worker.retries.front().first <= now) {
    worker.queue.insert(worker.retries.front().second);
    worker.retries.pop_front();
  }
  std::vector<uint64_t> records;
  while (!worker.queue.empty() && records.size() < kMostInBatch) {
    const uint64_t record = worker.queue.extract(worker.queue.begin()).value();
    const auto found = inquiries_.find(record);
    if (found == inquiries_.end() || found->second.intact_since.has_value()) continue;
    Copy* const copy = FindCopy(&found->second, index);
    if (copy == nullptr || copy->answered()) continue;
    if (copy->state == Check::COPY_UNSPECIFIED) copy->asked = now;
    records.push_back(record);
  }
  if (records.empty()) return false;
  worker.batch = Batch{new_batch_id(), std::move(records), now, false};
  ++unfetched_;
  return true;
}

void RecordInquiries::DropBatch(Asked* worker) {
  if (worker->batch.has_value() && !worker->batch->fetched) --unfetched_;
  worker->batch.reset();
}

RecordInquiries::Progress RecordInquiries::Advance(Nanos now, bool all, absl::FunctionRef<uint64_t()> new_batch_id) {
  Progress progress;
  if (all) {
    for (auto inquiry = inquiries_.begin(); inquiry != inquiries_.end();) {
      const bool ended = Judge(now, inquiry->first, &inquiry->second, &progress);
      inquiry = ended ? inquiries_.erase(inquiry) : std::next(inquiry);
    }
  } else {
    for (const uint64_t record : touched_) {
      const auto found = inquiries_.find(record);
      if (found == inquiries_.end()) continue;
      if (Judge(now, record, &found->second, &progress)) inquiries_.erase(found);
    }
  }
  touched_.clear();
  if (inquiries_.empty()) {
    // No inquiry needs the missing answers.
    workers_.clear();
    by_id_.clear();
    order_.clear();
    unfetched_ = 0;
  }
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    if (GiveBatch(now, i, new_batch_id)) progress.asked.push_back(workers_[i].id);
  }
  return progress;
}

const RecordInquiries::Batch* RecordInquiries::Fetch(const std::string& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end() || !workers_[found->second].batch.has_value()) return nullptr;
  Batch& batch = *workers_[found->second].batch;
  if (!std::exchange(batch.fetched, true)) --unfetched_;
  return &batch;
}

bool RecordInquiries::Answer(Nanos now, const std::string& id, uint64_t batch_id,
                             const google::protobuf::RepeatedPtrField<v1::RecordCheck>& checks) {
  const auto known = by_id_.find(id);
  if (known == by_id_.end()) return false;
  const uint32_t index = known->second;
  Asked& worker = workers_[index];
  if (!worker.batch.has_value() || worker.batch->id != batch_id) return false;
  std::map<uint64_t, const v1::RecordCheck*> by_record;
  for (const v1::RecordCheck& check : checks) by_record[check.record()] = &check;
  for (const uint64_t record : worker.batch->records) {
    const auto open = inquiries_.find(record);
    if (open == inquiries_.end() || open->second.intact_since.has_value()) continue;
    Inquiry& inquiry = open->second;
    Copy* const copy = FindCopy(&inquiry, index);
    if (copy == nullptr) continue;
    touched_.push_back(record);
    const auto check = by_record.find(record);
    const Check::Copy state = check == by_record.end() ? Check::COPY_UNSPECIFIED : check->second->copy();
    switch (state) {
      case Check::INTACT:
        copy->state = state;
        if (!inquiry.confirm) inquiry.intact_since = now;
        break;
      case Check::DAMAGED:
        copy->state = state;
        if (!inquiry.message.empty()) break;
        inquiry.reason = check->second->reason();
        TruncateUtf8(&inquiry.reason, Quarantine::kMostReasonBytes);
        inquiry.message = check->second->message();
        TruncateUtf8(&inquiry.message, Quarantine::kMostMessageBytes);
        if (check->second->has_offset()) inquiry.offset = check->second->offset();
        if (check->second->has_number_in_shard()) inquiry.number = check->second->number_in_shard();
        break;
      case Check::NO_FILE:
        copy->state = state;
        break;
      default:
        copy->state = Check::UNREADABLE;
        worker.retries.emplace_back(now + kRetryAfter, record);
    }
  }
  DropBatch(&worker);
  return true;
}

}  // namespace penstock::coordinator
