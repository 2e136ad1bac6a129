#include "server/worker/stream/stream_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "server/common/log_fields.h"
#include "server/worker/stream/row_message.h"
#include "transport/frame.h"

namespace penstock::worker {
namespace {

// Rows of this rank to examine before other tasks get a turn.
constexpr size_t kLookAtOnce = 65536;
// Rows per request to the loader. Rows that it has no room for are kept, and their number must stay small.
constexpr size_t kAskAtOnce = 256;
// Limit for a report's message about one record.
constexpr size_t kMostFaultBytes = 512;

}  // namespace

void StreamSession::Post(void (StreamSession::*step)()) {
  strand_.Post([weak = weak_from_this(), step] {
    if (const std::shared_ptr<StreamSession> self = weak.lock()) ((*self).*step)();
  });
}

void StreamSession::SetTimer(StrandTimer* timer, Nanos when, void (StreamSession::*step)()) {
  timer->Set(when, [weak = weak_from_this(), step] {
    if (const std::shared_ptr<StreamSession> self = weak.lock()) ((*self).*step)();
  });
}

void StreamSession::Warn(const absl::Status& status) const {
  server::LogWarn({.job = job_name_, .session = label_, .peer = peer_text_}, "{} is closed: {}",
                  name_.empty() ? "a stream without a session" : name_, std::string(status.message()));
}

void StreamSession::Tell(const std::string& news) const {
  server::LogInfo({.job = job_name_, .session = label_, .peer = peer_text_}, "{}: {}", name_, news);
}

// ---- Events of the stream ------------------------------------------------------------------------------------------

void StreamSession::Start() { Post(&StreamSession::Begin); }

void StreamSession::Begin() {
  strand_.AssertHere();
  if (over_) return;
  open_timer_.Set(strand_.clock()->Now() + shared_->open_wait, [weak = weak_from_this()] {
    const std::shared_ptr<StreamSession> self = weak.lock();
    if (self == nullptr) return;
    self->strand_.AssertHere();
    self->Reject(absl::DeadlineExceededError(
        absl::StrCat("a stream that has sent no `open` for ", self->shared_->open_wait / kSecond, " s")));
  });
  stream_->StartRead();
}

void StreamSession::OnMessage(transport::SliceList message) {
  strand_.Post([self = shared_from_this(), message = std::move(message)] {
    self->strand_.AssertHere();
    self->Handle(message);
  });
}

void StreamSession::OnWritten() {
  strand_.Post([self = shared_from_this()] {
    self->strand_.AssertHere();
    self->writing_ = false;
    const Nanos now = self->strand_.clock()->Now();
    self->trace_.Written(now);
    self->hoard_timer_.Cancel();
    bool revoked = false, held_up = false;
    {
      MutexLock lock(&self->mutex_);
      self->NoteFull(now);
      held_up = self->full_;
      self->write_began_.reset();
      self->wanted_ = false;
      self->NoteFull(now);
      revoked = !self->revoked_.empty();
    }
    if (const std::string news = self->coding_.Written(held_up, now); !news.empty()) self->Tell(news);
    if (self->stream_ != nullptr && self->link_.Seen(self->stream_->carrier(), now)) self->coding_.LinkChanged();
    if (const std::string news = self->link_.News(now); !news.empty()) self->Tell(news);
    if (revoked) self->Pump();
    self->Write();
  });
}

void StreamSession::OnClosed(const absl::Status& status) {
  strand_.Post([self = shared_from_this(), status] {
    self->strand_.AssertHere();
    self->closed_ = true;
    if (absl::IsInvalidArgument(status)) self->Reject(status);  // the carrier does not understand the client
    self->EndHere(status);
    self->Leave();
  });
}

void StreamSession::ReadOn() {
  if (!over_) stream_->StartRead();
}

// ---- The end -------------------------------------------------------------------------------------------------------

void StreamSession::End(absl::Status status) {
  strand_.Post([self = shared_from_this(), status = std::move(status)]() mutable {
    self->strand_.AssertHere();
    self->EndHere(std::move(status));
  });
}

void StreamSession::EndHere(absl::Status status) {
  if (std::exchange(over_, true)) return;
  if (accepted_ && !status.ok()) shared_->failed_streams.fetch_add(1, std::memory_order_relaxed);
  open_timer_.Cancel();
  flush_timer_.Cancel();
  hoard_timer_.Cancel();
  control_.clear();
  fetch_leases_.clear();
  decided_leases_.clear();
  unrequested_ = {};
  core_.reset();
  std::shared_ptr<const loader::LoadJob> job;
  std::unique_ptr<Outbox> dropped;  // its rows are released outside the lock
  {
    MutexLock lock(&mutex_);
    job.swap(job_);
    dropped.swap(outbox_);
    NoteFull(strand_.clock()->Now());
    if (sends_ != nullptr) sends_->Closed();
    sends_ = nullptr;
    revoked_ = {};
  }
  dropped.reset();
  stream_->Close(std::move(status));
  if (rows_ == nullptr) return;
  // The rows in the making may take as long as storage does. No thread waits for them here.
  const std::unique_ptr<loader::Loader::Session> rows = std::move(rows_);
  rows->Close([self = shared_from_this()] {
    self->strand_.Post([self] {
      self->strand_.AssertHere();
      self->quiet_ = true;
      self->Leave();
    });
  });
}

void StreamSession::Reject(const absl::Status& status) {
  if (!over_) shared_->rejections->Add(server::RejectionOf(peer_, status));
  EndHere(status);
}

void StreamSession::Leave() {
  if (!closed_ || !quiet_) return;
  stream_ = nullptr;
  sent_.Ends();
  if (std::exchange(seated_, false)) shared_->open_sessions.fetch_sub(1);
  place_ = {};
  const std::function<void(StreamSession*)> ended = std::exchange(ended_, nullptr);
  if (ended) ended(this);
}

// ---- Writing -------------------------------------------------------------------------------------------------------

void StreamSession::SendDraining() {
  strand_.Post([self = shared_from_this()] {
    self->strand_.AssertHere();
    if (self->over_ || std::exchange(self->draining_, true)) return;
    if (!self->accepted_) return;  // sent directly after Accepted
    v1::ServerHeader header;
    header.mutable_draining();
    self->control_.push_back(transport::MakeFrame(header));
    self->Write();
  });
}

void StreamSession::Write() {
  if (over_ || writing_) return;
  transport::SliceList message;
  if (!control_.empty()) {
    message = std::move(control_.front());
    control_.pop_front();
  } else {
    std::optional<transport::SliceList> rows = NextRowsMessage();
    if (!rows.has_value()) return;
    message = *std::move(rows);
  }
  writing_ = true;
  {
    MutexLock lock(&mutex_);
    write_began_ = strand_.clock()->Now();
    NoteFull(*write_began_);
  }
  stream_->StartWrite(std::move(message));
  const bool grants = core_.has_value() && core_->HasMore() && requested_ < GrantWindow() / 2;
  const bool fetches = core_.has_value() && core_->HasFetches() && fetched_ <= fetch_window_ / 2;
  if (grants || fetches || !unrequested_.empty()) PumpSoon();
}

std::optional<transport::SliceList> StreamSession::NextRowsMessage() {
  std::vector<loader::RowResult> rows;
  std::optional<Nanos> due;
  {
    MutexLock lock(&mutex_);
    flush_at_.reset();
    if (!outbox_) return std::nullopt;
    due = outbox_->DueAt();
    if (!due) return std::nullopt;
    if (*due > strand_.clock()->Now()) {
      flush_at_ = due;
    } else {
      rows = outbox_->Take();
    }
  }
  if (rows.empty()) {
    SetTimer(&flush_timer_, *due, &StreamSession::Woken);
    return std::nullopt;
  }
  flush_timer_.Cancel();
  uint64_t fetched = 0;
  for (const loader::RowResult& row : rows) fetched += WasFetched(row.request.tag) ? 1 : 0;
  const uint64_t granted = rows.size() - fetched;
  fetched_ -= fetched;
  requested_ -= granted;
  const Nanos start = strand_.clock()->Now();
  trace_.Begins(rows, start);
  RowsMessage rows_message = MakeRowsMessage(std::move(rows), fixed_bytes_, coding_.Begin(start));
  coding_.Made(rows_message.row_bytes);
  const uint64_t sent = rows_message.sent_bytes;
  sent_.Sends(stream_->carrier(), rows_message.row_bytes, sent, granted, fetched);
  shared_->bytes_sent.fetch_add(sent, std::memory_order_relaxed);
  const Nanos made = strand_.clock()->Now();
  trace_.Made(sent, made);
  MutexLock lock(&mutex_);
  if (sends_ != nullptr) sends_->Sent(sent, made - start);
  return std::move(rows_message.message);
}

// ---- Calls of the loader -------------------------------------------------------------------------------------------

void StreamSession::TellOfBadRecord(const loader::RowResult& row) {
  std::shared_ptr<const loader::LoadJob> job;
  uint64_t uid = 0;
  {
    MutexLock lock(&mutex_);
    job = job_;
    uid = job_uid_;
  }
  if (job == nullptr) return;
  const std::string reason(FaultName(FaultOf(row.fault)));
  const bool found = shared_->bad_records->Found(job->spec().name(), uid, row.record_id, row.masked, [&] {
    return absl::StrCat(job->reader().Describe(row.record_id), ": ", reason, ": ", row.fault.message());
  });
  // A record with damaged copies is bad by the coordinator's decision, which quarantines it. This client may have
  // decided by itself.
  if (!found || shared_->reports == nullptr || FaultOf(row.fault) == Fault::kWrongCrc) return;
  v1::BadRecord record;
  record.set_record(row.record_id);
  record.set_reason(reason);
  record.set_message(TruncatedUtf8(std::string(row.fault.message()), kMostFaultBytes));
  if (row.fault_offset.has_value()) record.set_offset(*row.fault_offset);
  if (row.number.has_value()) record.set_number_in_shard(*row.number);
  shared_->reports->Add(job->spec().name(), uid, std::move(record));
}

void StreamSession::NoteFull(Nanos now) {
  bool full = false;
  if (write_began_ && outbox_ != nullptr) {
    const std::optional<Nanos> due = outbox_->DueAt();
    full = due.has_value() && *due <= now;
  }
  if (full == full_ || sends_ == nullptr) return;
  full_ = full;
  full ? sends_->Full(now) : sends_->Taken(now);
}

void StreamSession::OnRow(loader::RowResult row) {
  if (!row.fault.ok() && shared_->bad_records != nullptr) TellOfBadRecord(row);
  const Nanos now = shared_->executor->clock()->Now();
  {
    MutexLock lock(&mutex_);
    if (!outbox_) return;
    outbox_->Add(std::move(row), now);
    NoteFull(now);
    if (write_began_ || wake_posted_) return;  // the strand checks when the write ends, or soon
    const Nanos due = *outbox_->DueAt();
    if (flush_at_ && due >= *flush_at_) return;  // the timer fires in time
    wake_posted_ = true;
  }
  Post(&StreamSession::Woken);
}

size_t StreamSession::Revoke(size_t bytes, bool for_others) {
  const Nanos now = shared_->executor->clock()->Now();
  size_t freed = 0;
  {
    MutexLock lock(&mutex_);
    if (!outbox_) return 0;
    // Rows that the client does not take are of no use to it, including those of its trainer's step.
    const bool stalled = write_began_ && now - *write_began_ >= shared_->stalled_after;
    freed = outbox_->Revoke(bytes, stalled, &revoked_);
    wanted_ = wanted_ || for_others;
    if (wake_posted_ || (revoked_.empty() && !wanted_)) return freed;
    wake_posted_ = true;
  }
  Post(&StreamSession::Woken);
  return freed;
}

bool StreamSession::ReclaimIfSilent() {
  const Nanos now = shared_->executor->clock()->Now();
  {
    MutexLock lock(&mutex_);
    if (!outbox_ || !write_began_ || now - *write_began_ < shared_->stalled_after) return false;
    wanted_ = true;
    if (std::exchange(wake_posted_, true)) return true;
  }
  Post(&StreamSession::Woken);
  return true;
}

void StreamSession::Woken() {
  strand_.AssertHere();
  bool revoked = false;
  std::optional<Nanos> hoards_since;
  {
    MutexLock lock(&mutex_);
    wake_posted_ = false;
    revoked = !revoked_.empty();
    if (wanted_) hoards_since = write_began_;
  }
  if (over_) return;
  if (hoards_since && rows_ != nullptr && !hoard_timer_.pending()) {
    SetTimer(&hoard_timer_, *hoards_since + shared_->stalled_after, &StreamSession::CheckHoard);
  }
  // While a write waits for the client, more rows would only wait for it.
  if (revoked && !writing_) Pump();
  Write();
}

// The timer was set for the current write, because the end of each write cancels the timer.
void StreamSession::CheckHoard() {
  strand_.AssertHere();
  if (over_) return;
  std::optional<Nanos> since;
  {
    MutexLock lock(&mutex_);
    since = write_began_;
  }
  if (!since) return;
  if (strand_.clock()->Now() < *since + shared_->hoard_time) {
    rows_->NowRevocable();  // the write has stalled since, so rows that its trainer waits for are also revocable
    SetTimer(&hoard_timer_, *since + shared_->hoard_time, &StreamSession::CheckHoard);
    return;
  }
  const absl::Status status =
      absl::ResourceExhaustedError(absl::StrCat("this client has read nothing for ", shared_->hoard_time / kSecond,
                                                " s, although finished rows waited for it and other sessions needed "
                                                "their memory; a stopped trainer that continues opens again"));
  Warn(status);
  Reject(status);
}

// ---- Requests to the loader ----------------------------------------------------------------------------------------

void StreamSession::PumpSoon() {
  if (std::exchange(pump_posted_, true)) return;
  strand_.Post([weak = weak_from_this()] {
    const std::shared_ptr<StreamSession> self = weak.lock();
    if (self == nullptr) return;
    self->strand_.AssertHere();
    self->pump_posted_ = false;
    self->Pump();
  });
}

bool StreamSession::Ask(const std::vector<loader::RowRequest>& rows, bool again) {
  if (rows.empty()) return true;
  if (!again) {
    MutexLock lock(&mutex_);
    if (outbox_) outbox_->Expect(rows);
  }
  const size_t taken = rows_->Request(rows);
  unrequested_.insert(unrequested_.end(), rows.begin() + static_cast<std::ptrdiff_t>(taken), rows.end());
  return taken == rows.size();
}

void StreamSession::Pump() {
  if (over_ || rows_ == nullptr) return;
  if (!Ask(std::exchange(unrequested_, {}), true)) return;  // rows in the making will free room
  std::vector<loader::RowRequest> revoked;
  if (!writing_) {
    MutexLock lock(&mutex_);
    revoked.swap(revoked_);
  }
  if (!Ask(revoked)) return;
  while (fetched_ < fetch_window_ && core_->HasFetches()) {
    std::vector<loader::RowRequest> rows = core_->NextFetched(std::min(kAskAtOnce, fetch_window_ - fetched_));
    while (fetch_leases_.size() > core_->fetches()) fetch_leases_.pop_front();
    fetched_ += rows.size();
    if (!Ask(rows)) return;
  }
  size_t looked = 0;
  const size_t window = GrantWindow();
  while (requested_ < window && core_->HasMore()) {
    if (looked >= kLookAtOnce) {
      PumpSoon();
      return;
    }
    std::vector<loader::RowRequest> rows =
        core_->NextRows(std::min(kAskAtOnce, window - requested_), kLookAtOnce - looked, &looked);
    requested_ += rows.size();
    if (!Ask(rows)) return;
  }
}

}  // namespace penstock::worker
