#include "client/session/record_verdicts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/fault.h"

namespace penstock::client {
namespace {

constexpr Nanos kVerdictTimeout = 5 * kSecond;
// Delay that collects records that need a decision at almost the same time into one call.
constexpr Nanos kGather = 10 * kMillisecond;
constexpr Nanos kLeastPause = 20 * kMillisecond;
constexpr Nanos kMostPause = 5 * kSecond;
// Pause while the reports reopen the session.
constexpr Nanos kReopenPause = kSecond;
constexpr Nanos kFirstVerdictBackoff = 200 * kMillisecond;
constexpr Nanos kMaxVerdictBackoff = 2 * kSecond;

}  // namespace

RecordVerdicts::RecordVerdicts(Strand* strand, std::shared_ptr<Mailbox> mailbox,
                               std::shared_ptr<CoordinatorClient> coordinator, uint64_t job_uid,
                               std::function<std::string()> session_id, std::shared_ptr<Window> window)
    : strand_(strand),
      mailbox_(std::move(mailbox)),
      coordinator_(std::move(coordinator)),
      job_uid_(job_uid),
      session_id_(std::move(session_id)),
      window_(std::move(window)),
      again_(strand) {}

void RecordVerdicts::Ask(const AskVerdicts& ask) {
  strand_->AssertHere();
  const Nanos at = strand_->clock()->Now() + kGather;
  for (const uint64_t record : ask.records) asked_.try_emplace(record, at);
  Schedule();
}

void RecordVerdicts::Store(const StoreDecision& decision) {
  strand_->AssertHere();
  asked_.erase(decision.record);
  decisions_[decision.record] = decision.message;
  Schedule();
}

void RecordVerdicts::Stop() {
  strand_->AssertHere();
  stopped_ = true;
  again_.Cancel();
}

void RecordVerdicts::Schedule() {
  strand_->AssertHere();
  if (calling_ || stopped_ || (asked_.empty() && decisions_.empty())) return again_.Cancel();
  Nanos at = decisions_.empty() ? INT64_MAX : not_before_;
  for (const auto& [record, due] : asked_) at = std::min(at, due);
  again_.Set(std::max(at, not_before_), [this] { Call(); });
}

void RecordVerdicts::Call() {
  strand_->AssertHere();
  calling_ = true;
  const Nanos now = strand_->clock()->Now();
  v1::JudgeRecordsRequest request;
  request.set_session_id(session_id_());
  request.set_job_uid(job_uid_);
  for (const auto& [record, due] : asked_) {
    if (static_cast<size_t>(request.records_size()) == kMostRecords) break;
    if (due <= now) request.add_records(record);
  }
  for (const auto& [record, message] : decisions_) {
    if (static_cast<size_t>(request.decided_size()) == kMostRecords) break;
    v1::BadRecord* const decided = request.add_decided();
    decided->set_record(record);
    decided->set_reason(std::string(FaultName(Fault::kWrongCrc)));
    decided->set_message(message);
    decided->set_every_copy(true);
    decided->set_by_reader(true);
  }
  coordinator_->JudgeRecords(request, kVerdictTimeout,
                             [this, mailbox = mailbox_, request](absl::StatusOr<v1::JudgeRecordsReply> reply) {
                               mailbox->Post([this, request, reply = std::move(reply)] { Answered(request, reply); });
                             });
}

void RecordVerdicts::Answered(const v1::JudgeRecordsRequest& request,
                              const absl::StatusOr<v1::JudgeRecordsReply>& reply) {
  strand_->AssertHere();
  calling_ = false;
  if (stopped_) return;
  const Nanos now = strand_->clock()->Now();
  if (!reply.ok()) {
    backoff_ = std::clamp(2 * backoff_, kFirstVerdictBackoff, kMaxVerdictBackoff);
    not_before_ = now + backoff_;
    Schedule();
    return window_->JudgeAway();
  }
  backoff_ = 0;
  if (reply->unknown_session()) {
    not_before_ = now + kReopenPause;
  } else {
    not_before_ = now + kLeastPause;
    const Nanos pause = std::clamp(reply->ask_again_ms() * kMillisecond, kLeastPause, kMostPause);
    for (const v1::BadRecord& stored : request.decided()) decisions_.erase(stored.record());
    for (const uint64_t record : request.records()) {
      if (const auto it = asked_.find(record); it != asked_.end()) it->second = now + pause;
    }
    for (const uint64_t record : reply->bad()) asked_.erase(record);
    for (const uint64_t record : reply->intact()) asked_.erase(record);
  }
  Schedule();
  window_->Judged({reply->bad().begin(), reply->bad().end()}, {reply->intact().begin(), reply->intact().end()});
}

}  // namespace penstock::client
