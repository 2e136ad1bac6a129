// Handles a client's messages: opening the job, grants and fetches.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "net/session_label.h"
#include "pipeline/plan/job_order.h"
#include "server/worker/stream/row_message.h"
#include "server/worker/stream/stream_session.h"
#include "transport/frame.h"

namespace penstock::worker {
namespace {

constexpr Nanos kJobPoll = 10 * kMillisecond;
constexpr size_t kFewFetches = 4096;   // a session with at most this many fetched rows does not hoard memory
constexpr size_t kDecisionBytes = 16;  // size of a decided record in a hash set
constexpr Nanos kMemoryPoll = 100 * kMillisecond;

loader::LoaderSessionOptions::Borrow BorrowFor(transport::MessageStream::SendsFrom sends_from) {
  switch (sends_from) {
    case transport::MessageStream::SendsFrom::kAnywhere:
      return loader::LoaderSessionOptions::Borrow::kAny;
    case transport::MessageStream::SendsFrom::kSharedRowFiles:
      return loader::LoaderSessionOptions::Borrow::kSharedFiles;
    case transport::MessageStream::SendsFrom::kNowhere:
      break;
  }
  return loader::LoaderSessionOptions::Borrow::kNone;
}

}  // namespace

void StreamSession::Handle(const transport::SliceList& bytes) {
  if (over_) return;
  if (bytes.bytes() > shared_->message_bytes) {
    Reject(absl::ResourceExhaustedError(absl::StrCat("a message of ", bytes.bytes(), " bytes; a worker takes ",
                                                     shared_->message_bytes, " from a client at once")));
    return;
  }
  v1::ClientMessage message;
  if (!message.ParseFromString(bytes.Joined())) {
    Reject(absl::InvalidArgumentError("a message that is no penstock.v1.ClientMessage"));
    return;
  }
  if (message.has_open()) {
    if (!open_timer_.pending()) {
      Reject(absl::InvalidArgumentError("a second `open` on one stream"));
      return;
    }
    open_timer_.Cancel();
    TryOpen(std::make_shared<const v1::Open>(std::move(*message.mutable_open())), strand_.clock()->Now());
    return;
  }
  if (absl::Status status = HandleOpened(message); !status.ok()) {
    if (!absl::IsUnavailable(status)) return Reject(status);
    return EndHere(std::move(status));  // memory is short, which is not the client's fault
  }
  ReadOn();
}

void StreamSession::TryOpen(std::shared_ptr<const v1::Open> open, Nanos since) {
  absl::Status status = HandleOpen(*open);
  const Nanos waited = strand_.clock()->Now() - since;
  // The coordinator may announce the job to this worker soon.
  if (absl::IsNotFound(status) && waited < shared_->job_wait) return TryOpenAgain(std::move(open), since, kJobPoll);
  if (std::exchange(lacks_memory_, false) && shared_->reclaim_from_silent != nullptr) {
    if (shared_->reclaim_from_silent()) {
      // A client retries after kAborted, while its trainer waits.
      status = absl::AbortedError(
          absl::StrCat(std::string(status.message()), "; it waits: clients that have read nothing for ",
                       shared_->hoard_time / kSecond, " s are closed, and free the memory that they reserve"));
    } else if (shared_->open_sessions.load() > 1 && waited < shared_->stalled_after + kMemoryPoll) {
      // Wait until it is known which clients read nothing.
      return TryOpenAgain(std::move(open), since, kMemoryPoll);
    }
  }
  if (!status.ok()) {
    const bool common = ProtocolFor(*open, shared_->worker_id).ok();
    const auto reason = common ? server::ReasonOf(status) : server::RejectionReason::kProtocol;
    shared_->rejections->Add({reason, peer_.Host(), peer_.name, std::string(status.message())});
    EndHere(std::move(status));
    return;
  }
  Write();
  ReadOn();
}

// Uses the flush timer, which is unused until the job is open.
void StreamSession::TryOpenAgain(std::shared_ptr<const v1::Open> open, Nanos since, Nanos pause) {
  flush_timer_.Set(strand_.clock()->Now() + pause, [weak = weak_from_this(), open = std::move(open), since] {
    const std::shared_ptr<StreamSession> self = weak.lock();
    if (self == nullptr) return;
    self->strand_.AssertHere();
    self->TryOpen(open, since);
  });
}

bool StreamSession::TakeSeat() {
  uint32_t open = shared_->open_sessions.load();
  while (open < shared_->max_sessions) {
    if (shared_->open_sessions.compare_exchange_weak(open, open + 1)) return seated_ = true;
  }
  return false;
}

absl::Status StreamSession::HandleOpen(const v1::Open& open) {
  PS_ASSIGN_OR_RETURN(const uint32_t protocol, ProtocolFor(open, shared_->worker_id));
  if (shared_->tickets != nullptr) PS_RETURN_IF_ERROR(shared_->tickets->CheckAdmitted(peer_));
  PS_RETURN_IF_ERROR(peer_.MayAccess(open.job()));
  PS_ASSIGN_OR_RETURN(std::shared_ptr<const loader::LoadJob> job, shared_->jobs->Find(open.job(), open.job_uid()));
  PS_RETURN_IF_ERROR(CheckKnowsData(open, job->spec(), job->reader().selects()));
  PS_RETURN_IF_ERROR(CheckFingerprints(open, *job));
  PS_ASSIGN_OR_RETURN(SessionCore core,
                      SessionCore::Create(SessionParametersOf(open, job, shared_->worker_id), shared_->limits));

  // Before anything is opened, so that concurrent opens do not exceed the limits.
  if (!seated_ && shared_->streams_of_peer != nullptr) {
    PS_ASSIGN_OR_RETURN(place_, shared_->streams_of_peer->Take(peer_));
  }
  if (!seated_ && !TakeSeat()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this worker serves ", shared_->max_sessions, " sessions, the most that max_sessions allows"));
  }
  loader::LoaderSessionOptions options;
  decided_ = std::make_shared<loader::DecidedRecords>(job->decided());
  options.decided = decided_;
  records_ = job->num_records();
  options.largest_step_rows = core.slice_rows();
  options.counts_all = true;
  options.end_epoch = open.end_epoch();
  options.rank = open.rank();
  options.world_size = std::max<uint32_t>(open.world_size(), 1);
  options.weight = job->spec().weight() == 0 ? 1 : job->spec().weight();
  const v1::Caps& caps = job->spec().caps();
  options.caps = {caps.cpu_share(), static_cast<double>(caps.storage_requests_per_second()), caps.memory_bytes()};
  // Smaller rows are joined, which copies them in any case.
  if (job->schema().FixedBytes() >= kJoinRowsBelow) {
    options.row_memory = stream_->send_memory();
    options.borrow = BorrowFor(stream_->sends_from());
  }
  absl::StatusOr<std::unique_ptr<loader::Loader::Session>> rows = shared_->loader->OpenSession(job, options, this);
  lacks_memory_ = absl::IsResourceExhausted(rows.status());
  PS_RETURN_IF_ERROR(rows.status());
  rows_ = *std::move(rows);
  name_ = SessionName(open);
  job_name_ = open.job();
  label_ = net::SessionLabel(open.session_id());
  trace_.Opened(job_name_, label_);
  fixed_bytes_ = job->schema().FixedBytes();
  fetch_window_ = std::clamp<size_t>(shared_->fetched_bytes / std::max<uint64_t>(fixed_bytes_, 1), 64,
                                     std::max<size_t>(64, shared_->fetched_rows));
  coding_.Opened(shared_->compression, open, job->schema(), stream_->send_memory() == nullptr);
  grant_window_ = RowsAhead(shared_->ahead, fixed_bytes_, options.row_memory.get());
  if (!job->reader().HasLowLatency()) grant_window_ = std::max(grant_window_, shared_->ahead.parked_rows);
  OutboxLimits outbox = shared_->outbox;
  outbox.flush_bytes = MessageBytes(outbox.flush_bytes, options.row_memory.get());
  {
    MutexLock lock(&mutex_);
    outbox_ = std::make_unique<Outbox>(fixed_bytes_, outbox);
    job_ = job;
    job_uid_ = open.job_uid();
    sends_ = shared_->sends.Of(open.job());
    sends_->Opened();
  }
  quiet_ = false;
  core_.emplace(std::move(core));

  v1::ServerHeader accepted, draining;
  accepted.mutable_accepted()->set_worker_id(shared_->worker_id);
  accepted.mutable_accepted()->set_version(std::string(Version()));
  accepted.mutable_accepted()->set_protocol(protocol);
  control_.push_back(transport::MakeFrame(accepted));
  draining.mutable_draining();
  if (draining_) control_.push_back(transport::MakeFrame(draining));
  accepted_ = true;
  return absl::OkStatus();
}

absl::Status StreamSession::HandleOpened(const v1::ClientMessage& message) {
  if (rows_ == nullptr) return absl::InvalidArgumentError("the first message of a stream must be `open`");
  switch (message.message_case()) {
    case v1::ClientMessage::kUseView:
      return core_->UseView(message.use_view().view());
    case v1::ClientMessage::kGrant:
      PS_RETURN_IF_ERROR(core_->AddGrant(message.grant()));
      if (std::optional<loader::ExpectedRows> expected = core_->TakeExpected(); expected.has_value()) {
        rows_->Expect(*std::move(expected));
      }
      PumpSoon();
      return absl::OkStatus();
    case v1::ClientMessage::kFetch:
      return HandleFetch(message.fetch());
    case v1::ClientMessage::kWaiting: {
      PS_ASSIGN_OR_RETURN(const uint64_t step, core_->Waiting(message.waiting()));
      {
        MutexLock lock(&mutex_);
        outbox_->SetHead(step);
      }
      rows_->SetHead(step);
      Write();
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError("a message without content that this worker knows");
  }
}

absl::Status StreamSession::FollowDecisions(const v1::Fetch& fetch) {
  if (fetch.decided().empty()) return absl::OkStatus();
  for (const uint64_t record : fetch.decided()) {
    if (record < records_) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a fetch with a decision about record ", record, ": this job has ", records_, " records"));
  }
  const size_t added = decided_->Add(fetch.decided());
  if (added == 0) return absl::OkStatus();
  std::unique_ptr<loader::BudgetLease> lease = rows_->Reserve(added * kDecisionBytes);
  if (lease == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("memory_budget_bytes has no room for ", added, " more decisions about bad records"));
  }
  decided_leases_.push_back(std::move(lease));
  return absl::OkStatus();
}

absl::Status StreamSession::HandleFetch(const v1::Fetch& fetch) {
  PS_RETURN_IF_ERROR(FollowDecisions(fetch));
  PS_ASSIGN_OR_RETURN(const size_t bytes, core_->AddFetch(fetch));
  if (bytes == 0) return absl::OkStatus();  // no positions, so nothing is listed
  std::unique_ptr<loader::BudgetLease> lease = rows_->Reserve(bytes);
  if (lease == nullptr) {
    const std::string why = absl::StrCat(core_->queued_fetches(),
                                         " fetched rows wait in this session, and memory_budget_bytes has no room "
                                         "for the list of ",
                                         fetch.positions_size(), " more");
    // A session with few rows waits for the memory of others; its client opens it again.
    const absl::Status status =
        core_->queued_fetches() > kFewFetches ? absl::ResourceExhaustedError(why) : absl::UnavailableError(why);
    Warn(status);
    return status;
  }
  fetch_leases_.push_back(std::move(lease));
  PumpSoon();
  return absl::OkStatus();
}

}  // namespace penstock::worker
