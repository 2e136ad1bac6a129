#include "server/worker/stream/stream_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "net/frame.h"
#include "pipeline/plan/job_order.h"
#include "server/worker/stream/row_message.h"

namespace penstock {
namespace {

constexpr Nanos kJobPoll = 10 * kMillisecond;
// Rows of this rank that are looked at before others have their turn.
constexpr size_t kLookAtOnce = 65536;

std::string Hex(uint64_t value) { return absl::StrCat(absl::Hex(value, absl::kZeroPad16)); }

absl::Status CheckFingerprint(const std::string& what, uint64_t theirs, uint64_t ours, const std::string& job) {
  if (theirs == ours) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("job '", job, "': the session's ", what, " fingerprint is ",
                                                    Hex(theirs), ", this worker's is ", Hex(ours),
                                                    "; open the job again"));
}

}  // namespace

StreamSession::~StreamSession() {
  MutexLock lock(&work_mutex_);
  PS_CHECK(open_.rows == nullptr);
}

// ---- The stream's side ---------------------------------------------------------------------------------------------

void StreamSession::OnMessage(v1::ClientMessage message) {
  shared_->executor->Post([self = shared_from_this(), message = std::move(message), now = shared_->clock->Now()] {
    self->Handle(message, now);
  });
}

void StreamSession::OnClosed() { End(absl::OkStatus()); }

void StreamSession::OnWriteDone(bool ok) {
  {
    MutexLock lock(&mutex_);
    write_in_flight_ = false;
  }
  if (!ok) End(absl::CancelledError("the client is gone"));
  Write();
}

bool StreamSession::EnterStream() {
  if (stream_ == nullptr || end_) return false;
  ++calls_;
  return true;
}

void StreamSession::LeaveStream() {
  MessageStream* stream = nullptr;
  absl::Status status;
  {
    MutexLock lock(&mutex_);
    if (--calls_ > 0 || !end_ || write_in_flight_ || stream_ == nullptr) return;
    stream = std::exchange(stream_, nullptr);
    status = *end_;
  }
  stream->Finish(std::move(status));
}

void StreamSession::End(absl::Status status) {
  {
    MutexLock lock(&mutex_);
    if (end_) return;
    end_ = std::move(status);
    control_.clear();
    revoked_.clear();
    if (outbox_) outbox_->Clear();
    ++calls_;
  }
  LeaveStream();
  shared_->executor->Post([self = shared_from_this()] { self->CloseRows(); });
}

void StreamSession::ReadOn() {
  MessageStream* stream = nullptr;
  {
    MutexLock lock(&mutex_);
    if (!EnterStream()) return;
    stream = stream_;
  }
  stream->StartRead();
  LeaveStream();
}

void StreamSession::Send(v1::ServerHeader header) {
  {
    MutexLock lock(&mutex_);
    if (end_) return;
    control_.push_back(MakeFrame(header));
  }
  Write();
}

void StreamSession::SendDraining() {
  {
    MutexLock lock(&mutex_);
    if (draining_) return;
    draining_ = true;
    if (!accepted_) return;  // said right after Accepted
  }
  v1::ServerHeader header;
  header.mutable_draining();
  Send(std::move(header));
}

void StreamSession::Write() {
  MessageStream* stream = nullptr;
  grpc::ByteBuffer message;
  std::vector<RowResult> rows;
  uint64_t fixed_bytes = 0;
  bool pump = false;
  {
    MutexLock lock(&mutex_);
    if (end_) {
      ++calls_;  // the write that the stream's end waited for may be over
    } else {
      if (write_in_flight_ || stream_ == nullptr) return;
      if (!control_.empty()) {
        message = std::move(control_.front());
        control_.pop_front();
      } else {
        if (!outbox_) return;
        const std::optional<Nanos> due = outbox_->DueAt();
        if (!due) return;
        const Nanos now = shared_->clock->Now();
        if (*due > now) {
          if (timer_posted_) return;
          timer_posted_ = true;
          shared_->executor->PostAfter(*due - now, [weak = weak_from_this()] {
            const std::shared_ptr<StreamSession> self = weak.lock();
            if (self == nullptr) return;
            {
              MutexLock timer_lock(&self->mutex_);
              self->timer_posted_ = false;
            }
            self->Write();
          });
          return;
        }
        rows = outbox_->Take();
        for (const RowResult& row : rows) {
          --(WasFetched(row.request.tag) ? fetched_ : requested_);
        }
        fixed_bytes = fixed_bytes_;
        pump = more_to_pump_ && !pump_posted_ && requested_ < shared_->requested_rows / 2;
      }
      write_in_flight_ = true;
      ++calls_;
      stream = stream_;
    }
  }
  if (stream != nullptr) {
    if (!rows.empty()) {
      uint64_t sent = 0;
      message = MakeRowsMessage(std::move(rows), fixed_bytes, &sent);
      shared_->bytes_sent.fetch_add(sent, std::memory_order_relaxed);
    }
    stream->StartWrite(std::move(message));
  }
  LeaveStream();
  if (pump) PostPump();
}

// ---- The loader's side ---------------------------------------------------------------------------------------------

void StreamSession::OnRow(RowResult row) {
  {
    MutexLock lock(&mutex_);
    if (end_) return;
    outbox_->Add(std::move(row), shared_->clock->Now());
    if (write_in_flight_) return;
  }
  Write();
}

size_t StreamSession::Revoke(size_t bytes) {
  size_t freed = 0;
  {
    MutexLock lock(&mutex_);
    if (end_ || !outbox_) return 0;
    freed = outbox_->Revoke(bytes, &revoked_);
    if (revoked_.empty()) return freed;
  }
  PostPump();
  return freed;
}

// ---- The executor's side -------------------------------------------------------------------------------------------

void StreamSession::PostPump() {
  {
    MutexLock lock(&mutex_);
    if (pump_posted_ || end_) return;
    pump_posted_ = true;
  }
  shared_->executor->Post([weak = weak_from_this()] {
    if (const std::shared_ptr<StreamSession> self = weak.lock()) self->Pump();
  });
}

void StreamSession::Pump() {
  bool again = false;
  {
    MutexLock work(&work_mutex_);
    std::vector<RowRequest> rows;
    size_t room = 0;
    {
      MutexLock lock(&mutex_);
      pump_posted_ = false;
      if (end_) return;
      rows = std::exchange(revoked_, {});
      if (outbox_) outbox_->Expect(rows);
      room = requested_ < shared_->requested_rows ? shared_->requested_rows - requested_ : 0;
    }
    if (open_.rows == nullptr) return;
    if (!rows.empty()) open_.rows->Request(std::move(rows));
    rows = open_.core->NextRows(room, kLookAtOnce);
    {
      MutexLock lock(&mutex_);
      if (end_) return;
      outbox_->Expect(rows);
      requested_ += rows.size();
      more_to_pump_ = open_.core->HasMore();
      again = more_to_pump_ && requested_ < shared_->requested_rows;
    }
    if (!rows.empty()) open_.rows->Request(std::move(rows));
  }
  if (again) PostPump();
}

void StreamSession::CloseRows() {
  std::unique_ptr<Loader::Session> rows;
  {
    MutexLock work(&work_mutex_);
    rows = std::move(open_.rows);
    rows_closed_ = true;
    if (rows != nullptr) shared_->open_sessions.fetch_sub(1);
  }
  rows.reset();  // waits for the rows that are being made; they come to OnRow
}

void StreamSession::Handle(v1::ClientMessage message, Nanos since) {
  absl::Status status;
  bool again = false;
  {
    MutexLock work(&work_mutex_);
    if (rows_closed_) return;
    if (message.has_open()) {
      status = HandleOpen(message.open(), since, &again);
    } else {
      status = HandleOpened(message);
    }
  }
  if (again) {
    shared_->executor->PostAfter(kJobPoll, [weak = weak_from_this(), message = std::move(message), since] {
      if (const std::shared_ptr<StreamSession> self = weak.lock()) self->Handle(message, since);
    });
    return;
  }
  if (!status.ok()) {
    End(std::move(status));
    return;
  }
  ReadOn();
}

absl::Status StreamSession::HandleOpen(const v1::Open& open, Nanos since, bool* again) {
  if (open_.rows != nullptr) return absl::InvalidArgumentError("a second `open` on one stream");
  absl::StatusOr<std::shared_ptr<const LoadJob>> found = shared_->jobs->Find(open.job(), open.job_uid());
  if (absl::IsNotFound(found.status()) && shared_->clock->Now() - since < shared_->job_wait) {
    *again = true;
    return absl::OkStatus();
  }
  PS_RETURN_IF_ERROR(found.status());
  std::shared_ptr<const LoadJob> job = *std::move(found);
  PS_RETURN_IF_ERROR(CheckFingerprint("order", open.order_fingerprint(), job->order_fingerprint(), open.job()));
  PS_RETURN_IF_ERROR(
      CheckFingerprint("pipeline", open.pipeline_fingerprint(), JobPipelineFingerprint(job->pipeline()), open.job()));

  SessionParameters parameters;
  parameters.rank = open.rank();
  parameters.world_size = open.world_size();
  parameters.step_rows = open.step_rows();
  parameters.positions = job->PlanOf(0).num_positions();
  parameters.last = LastBatchOf(job->spec().batch().last());
  parameters.worker_id = shared_->worker_id;
  parameters.plan_of = [job](uint64_t epoch) { return job->PlanOf(epoch); };
  PS_ASSIGN_OR_RETURN(SessionCore core, SessionCore::Create(std::move(parameters), shared_->limits));

  if (shared_->open_sessions.load() >= shared_->max_sessions) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this worker serves ", shared_->max_sessions, " sessions, the most that max_sessions allows"));
  }
  LoaderSessionOptions options;
  options.largest_step_rows = core.slice_rows();
  options.weight = job->spec().weight() == 0 ? 1 : job->spec().weight();
  {
    MutexLock lock(&mutex_);
    if (end_) return absl::OkStatus();
    fixed_bytes_ = job->pipeline().schema().FixedBytes();
    outbox_.emplace(fixed_bytes_, shared_->outbox);
  }
  PS_ASSIGN_OR_RETURN(open_.rows, shared_->loader->OpenSession(job, options, this));
  open_.job = std::move(job);
  open_.core = std::move(core);
  shared_->open_sessions.fetch_add(1);

  v1::ServerHeader accepted, draining;
  accepted.mutable_accepted()->set_worker_id(shared_->worker_id);
  draining.mutable_draining();
  {
    MutexLock lock(&mutex_);
    control_.push_back(MakeFrame(accepted));
    if (draining_) control_.push_back(MakeFrame(draining));
    accepted_ = true;
  }
  // Not with work_mutex_ held: a write ends on other threads.
  shared_->executor->Post([weak = weak_from_this()] {
    if (const std::shared_ptr<StreamSession> self = weak.lock()) self->Write();
  });
  return absl::OkStatus();
}

absl::Status StreamSession::HandleOpened(const v1::ClientMessage& message) {
  if (open_.rows == nullptr) return absl::InvalidArgumentError("the first message of a stream must be `open`");
  switch (message.message_case()) {
    case v1::ClientMessage::kUseView:
      return open_.core->UseView(message.use_view().view());
    case v1::ClientMessage::kGrant:
      PS_RETURN_IF_ERROR(open_.core->AddGrant(message.grant()));
      PostPump();
      return absl::OkStatus();
    case v1::ClientMessage::kFetch: {
      PS_ASSIGN_OR_RETURN(std::vector<RowRequest> rows, open_.core->Fetch(message.fetch()));
      {
        MutexLock lock(&mutex_);
        fetched_ += rows.size();
        if (fetched_ > 2 * shared_->limits.fetch_positions) {
          return absl::ResourceExhaustedError(
              absl::StrCat("more than ", 2 * shared_->limits.fetch_positions, " fetched rows are open in one session"));
        }
      }
      open_.rows->Request(std::move(rows));
      return absl::OkStatus();
    }
    case v1::ClientMessage::kWaiting: {
      PS_ASSIGN_OR_RETURN(const uint64_t step, open_.core->Waiting(message.waiting()));
      {
        MutexLock lock(&mutex_);
        if (!end_) outbox_->SetHead(step);
      }
      open_.rows->SetHead(step);
      shared_->executor->Post([weak = weak_from_this()] {
        if (const std::shared_ptr<StreamSession> self = weak.lock()) self->Write();
      });
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError("a message without content that this worker knows");
  }
}

}  // namespace penstock
