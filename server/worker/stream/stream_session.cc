#include "server/worker/stream/stream_session.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "server/worker/stream/row_message.h"
#include "transport/frame.h"

namespace penstock {
namespace {

constexpr Nanos kJobPoll = 10 * kMillisecond;
// Rows of this rank that are looked at before others have their turn.
constexpr size_t kLookAtOnce = 65536;
// Rows that are asked of the loader at once: what it has no room for is kept, and is to be little.
constexpr size_t kAskAtOnce = 256;

LoaderSessionOptions::Borrow BorrowFor(MessageStream::SendsFrom sends_from) {
  switch (sends_from) {
    case MessageStream::SendsFrom::kAnywhere:
      return LoaderSessionOptions::Borrow::kAny;
    case MessageStream::SendsFrom::kLentFiles:
      return LoaderSessionOptions::Borrow::kLent;
    case MessageStream::SendsFrom::kNowhere:
      break;
  }
  return LoaderSessionOptions::Borrow::kNone;
}

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
  spdlog::warn("{} is closed: {}", name_.empty() ? "a stream without a session" : name_, std::string(status.message()));
}

// ---- From the stream -----------------------------------------------------------------------------------------------

void StreamSession::Start() { Post(&StreamSession::Begin); }

void StreamSession::Begin() {
  strand_.AssertHere();
  if (over_) return;
  open_timer_.Set(strand_.clock()->Now() + shared_->open_wait, [weak = weak_from_this()] {
    const std::shared_ptr<StreamSession> self = weak.lock();
    if (self == nullptr) return;
    self->strand_.AssertHere();
    self->EndHere(absl::DeadlineExceededError(
        absl::StrCat("a stream that has sent no `open` for ", self->shared_->open_wait / kSecond, " s")));
  });
  stream_->StartRead();
}

void StreamSession::OnMessage(SliceList message) {
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
    if (const std::string news = self->coding_.Written(held_up, now); !news.empty()) {
      spdlog::info("{}: {}", self->name_, news);
    }
    if (revoked) self->Pump();
    self->Write();
  });
}

void StreamSession::OnClosed(const absl::Status&) {
  strand_.Post([self = shared_from_this()] {
    self->strand_.AssertHere();
    self->closed_ = true;
    self->EndHere(absl::OkStatus());
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
  open_timer_.Cancel();
  flush_timer_.Cancel();
  hoard_timer_.Cancel();
  control_.clear();
  fetch_grabs_.clear();
  unasked_ = {};
  core_.reset();
  std::shared_ptr<const LoadJob> job;
  std::unique_ptr<Outbox> dropped;  // its rows are let go of outside the lock
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
  // The rows that are being made may take as long as storage takes: nobody waits for them here.
  const std::unique_ptr<Loader::Session> rows = std::move(rows_);
  rows->Close([self = shared_from_this()] {
    self->strand_.Post([self] {
      self->strand_.AssertHere();
      self->quiet_ = true;
      self->Leave();
    });
  });
}

void StreamSession::Leave() {
  if (!closed_ || !quiet_) return;
  stream_ = nullptr;
  if (std::exchange(seated_, false)) shared_->open_sessions.fetch_sub(1);
  const std::function<void(StreamSession*)> ended = std::exchange(ended_, nullptr);
  if (ended) ended(this);
}

// ---- Writing -------------------------------------------------------------------------------------------------------

void StreamSession::SendDraining() {
  strand_.Post([self = shared_from_this()] {
    self->strand_.AssertHere();
    if (self->over_ || std::exchange(self->draining_, true)) return;
    if (!self->accepted_) return;  // said right after Accepted
    v1::ServerHeader header;
    header.mutable_draining();
    self->control_.push_back(MakeFrame(header));
    self->Write();
  });
}

void StreamSession::Write() {
  if (over_ || writing_) return;
  SliceList message;
  if (!control_.empty()) {
    message = std::move(control_.front());
    control_.pop_front();
  } else {
    std::optional<SliceList> rows = NextRowsMessage();
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
  if (grants || fetches || !unasked_.empty()) PumpSoon();
}

std::optional<SliceList> StreamSession::NextRowsMessage() {
  std::vector<RowResult> rows;
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
  for (const RowResult& row : rows) --(WasFetched(row.request.tag) ? fetched_ : requested_);
  const Nanos start = strand_.clock()->Now();
  trace_.Begins(rows, start);
  RowsMessage rows_message = MakeRowsMessage(std::move(rows), fixed_bytes_, coding_.Begin(start));
  coding_.Made(rows_message.row_bytes);
  const uint64_t sent = rows_message.sent_bytes;
  shared_->bytes_sent.fetch_add(sent, std::memory_order_relaxed);
  const Nanos made = strand_.clock()->Now();
  trace_.Made(sent, made);
  MutexLock lock(&mutex_);
  if (sends_ != nullptr) sends_->Sent(sent, made - start);
  return std::move(rows_message.message);
}

// ---- The loader's side ---------------------------------------------------------------------------------------------

void StreamSession::TellOfBadRecord(const RowResult& row) {
  std::shared_ptr<const LoadJob> job;
  uint64_t uid = 0;
  {
    MutexLock lock(&mutex_);
    job = job_;
    uid = job_uid_;
  }
  if (job == nullptr) return;
  shared_->bad_records->Found(job->spec().name(), uid, row.record_id, row.masked, [&] {
    return absl::StrCat(job->reader().Describe(row.record_id), ": ", std::string(FaultName(FaultOf(row.fault))), ": ",
                        row.fault.message());
  });
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

void StreamSession::OnRow(RowResult row) {
  if (!row.fault.ok() && shared_->bad_records != nullptr) TellOfBadRecord(row);
  const Nanos now = shared_->executor->clock()->Now();
  {
    MutexLock lock(&mutex_);
    if (!outbox_) return;
    outbox_->Add(std::move(row), now);
    NoteFull(now);
    if (write_began_ || wake_posted_) return;  // the strand looks when the write is over, or soon
    const Nanos due = *outbox_->DueAt();
    if (flush_at_ && due >= *flush_at_) return;  // it looks in time
    wake_posted_ = true;
  }
  Post(&StreamSession::Woken);
}

bool StreamSession::WillAsk(uint64_t epoch, uint64_t position, uint64_t record) {
  std::shared_ptr<const SessionCore::WillAsk> will_ask;
  {
    MutexLock lock(&mutex_);
    will_ask = will_ask_;
  }
  return will_ask != nullptr && (*will_ask)(position, record);
}

size_t StreamSession::Revoke(size_t bytes, bool for_others) {
  const Nanos now = shared_->executor->clock()->Now();
  size_t freed = 0;
  {
    MutexLock lock(&mutex_);
    if (!outbox_) return 0;
    // Rows that the client does not take are no use to it, its trainer's step neither.
    const bool stalled = write_began_ && now - *write_began_ >= shared_->stalled_after;
    freed = outbox_->Revoke(bytes, stalled, &revoked_);
    wanted_ = wanted_ || for_others;
    if (wake_posted_ || (revoked_.empty() && !wanted_)) return freed;
    wake_posted_ = true;
  }
  Post(&StreamSession::Woken);
  return freed;
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
  // While a write waits for the client, more rows would only wait behind it.
  if (revoked && !writing_) Pump();
  Write();
}

// The write is still the one that the timer was set for: it is cancelled with each that ends.
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
    rows_->NowRevocable();  // it has stalled since: those rows too that its trainer waits for
    SetTimer(&hoard_timer_, *since + shared_->hoard_time, &StreamSession::CheckHoard);
    return;
  }
  const absl::Status status = absl::ResourceExhaustedError(absl::StrCat(
      "this client has read nothing for ", shared_->hoard_time / kSecond,
      " s while rows for it lay ready and others needed their memory; a trainer that was stopped opens again"));
  Warn(status);
  EndHere(status);
}

// ---- What is asked of the loader -----------------------------------------------------------------------------------

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

bool StreamSession::Ask(const std::vector<RowRequest>& rows, bool again) {
  if (rows.empty()) return true;
  if (!again) {
    MutexLock lock(&mutex_);
    if (outbox_) outbox_->Expect(rows);
  }
  const size_t taken = rows_->Request(rows);
  unasked_.insert(unasked_.end(), rows.begin() + static_cast<std::ptrdiff_t>(taken), rows.end());
  return taken == rows.size();
}

void StreamSession::Pump() {
  if (over_ || rows_ == nullptr) return;
  if (!Ask(std::exchange(unasked_, {}), true)) return;  // what is under way makes room
  std::vector<RowRequest> revoked;
  if (!writing_) {
    MutexLock lock(&mutex_);
    revoked.swap(revoked_);
  }
  if (!Ask(revoked)) return;
  while (fetched_ < fetch_window_ && core_->HasFetches()) {
    std::vector<RowRequest> rows = core_->NextFetched(std::min(kAskAtOnce, fetch_window_ - fetched_));
    while (fetch_grabs_.size() > core_->fetches()) fetch_grabs_.pop_front();
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
    std::vector<RowRequest> rows =
        core_->NextRows(std::min(kAskAtOnce, window - requested_), kLookAtOnce - looked, &looked);
    requested_ += rows.size();
    if (!Ask(rows)) return;
  }
}

// ---- Messages ------------------------------------------------------------------------------------------------------

void StreamSession::Handle(const SliceList& bytes) {
  if (over_) return;
  if (bytes.bytes() > shared_->message_bytes) {
    EndHere(absl::ResourceExhaustedError(absl::StrCat("a message of ", bytes.bytes(), " bytes; a worker takes ",
                                                      shared_->message_bytes, " from a client at once")));
    return;
  }
  v1::ClientMessage message;
  if (!message.ParseFromString(bytes.Joined())) {
    EndHere(absl::InvalidArgumentError("a message that is no penstock.v1.ClientMessage"));
    return;
  }
  if (message.has_open()) {
    if (!open_timer_.pending()) {
      EndHere(absl::InvalidArgumentError("a second `open` on one stream"));
      return;
    }
    open_timer_.Cancel();
    TryOpen(std::make_shared<const v1::Open>(std::move(*message.mutable_open())), strand_.clock()->Now());
    return;
  }
  if (absl::Status status = HandleOpened(message); !status.ok()) {
    EndHere(std::move(status));
    return;
  }
  ReadOn();
}

void StreamSession::TryOpen(std::shared_ptr<const v1::Open> open, Nanos since) {
  absl::Status status = HandleOpen(*open);
  const Nanos now = strand_.clock()->Now();
  if (absl::IsNotFound(status) && now - since < shared_->job_wait) {
    // The coordinator may tell this worker of it in a moment. (The timer has nothing else to do until the job is open.)
    flush_timer_.Set(now + kJobPoll, [weak = weak_from_this(), open = std::move(open), since] {
      const std::shared_ptr<StreamSession> self = weak.lock();
      if (self == nullptr) return;
      self->strand_.AssertHere();
      self->TryOpen(open, since);
    });
    return;
  }
  if (!status.ok()) {
    EndHere(std::move(status));
    return;
  }
  Write();
  ReadOn();
}

bool StreamSession::TakeSeat() {
  uint32_t open = shared_->open_sessions.load();
  while (open < shared_->max_sessions) {
    if (shared_->open_sessions.compare_exchange_weak(open, open + 1)) return seated_ = true;
  }
  return false;
}

absl::Status StreamSession::HandleOpen(const v1::Open& open) {
  PS_ASSIGN_OR_RETURN(std::shared_ptr<const LoadJob> job, shared_->jobs->Find(open.job(), open.job_uid()));
  PS_RETURN_IF_ERROR(CheckFingerprints(open, *job));
  PS_ASSIGN_OR_RETURN(SessionCore core,
                      SessionCore::Create(SessionParametersOf(open, job, shared_->worker_id), shared_->limits));

  // Before anything is opened, so that of those who come at once no more get in than may.
  if (!TakeSeat()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this worker serves ", shared_->max_sessions, " sessions, the most that max_sessions allows"));
  }
  LoaderSessionOptions options;
  options.largest_step_rows = core.slice_rows();
  options.counts_all = true;
  options.rank = open.rank();
  options.world_size = std::max<uint32_t>(open.world_size(), 1);
  options.weight = job->spec().weight() == 0 ? 1 : job->spec().weight();
  // Smaller rows are joined, and so copied once anyway.
  if (job->pipeline().schema().FixedBytes() >= kJoinRowsBelow) {
    options.row_memory = stream_->send_memory();
    options.borrow = BorrowFor(stream_->sends_from());
  }
  name_ = SessionName(open);
  trace_.Opened(open.job(), open.session_id());
  fixed_bytes_ = job->pipeline().schema().FixedBytes();
  fetch_window_ = std::clamp<size_t>(shared_->fetched_bytes / std::max<uint64_t>(fixed_bytes_, 1), 64,
                                     std::max<size_t>(64, shared_->fetched_rows));
  coding_.Opened(shared_->compression, open, job->pipeline().schema(), stream_->send_memory() == nullptr);
  grant_window_ = RowsAhead(shared_->ahead, fixed_bytes_, options.row_memory.get());
  if (!job->reader().ReadsAtOnce()) grant_window_ = std::max(grant_window_, shared_->ahead.aside_rows);
  {
    MutexLock lock(&mutex_);
    outbox_ = std::make_unique<Outbox>(fixed_bytes_, shared_->outbox);
    job_ = job;
    job_uid_ = open.job_uid();
    sends_ = shared_->sends.Of(open.job());
    sends_->Opened();
  }
  PS_ASSIGN_OR_RETURN(rows_, shared_->loader->OpenSession(std::move(job), options, this));
  quiet_ = false;
  core_.emplace(std::move(core));

  v1::ServerHeader accepted, draining;
  accepted.mutable_accepted()->set_worker_id(shared_->worker_id);
  control_.push_back(MakeFrame(accepted));
  draining.mutable_draining();
  if (draining_) control_.push_back(MakeFrame(draining));
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
      {
        MutexLock lock(&mutex_);
        will_ask_ = core_->will_ask();
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

absl::Status StreamSession::HandleFetch(const v1::Fetch& fetch) {
  PS_ASSIGN_OR_RETURN(const size_t bytes, core_->AddFetch(fetch));
  std::unique_ptr<BudgetGrab> grab = rows_->Hold(bytes);
  if (grab == nullptr) {
    const absl::Status status = absl::ResourceExhaustedError(
        absl::StrCat(core_->queued_fetches(),
                     " fetched rows wait in this session, and memory_budget_bytes has no room "
                     "for the list of ",
                     fetch.positions_size(), " more"));
    Warn(status);
    return status;
  }
  fetch_grabs_.push_back(std::move(grab));
  PumpSoon();
  return absl::OkStatus();
}

}  // namespace penstock
