#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "client/session/open.h"
#include "client/session/session.h"
#include "client/transport/grpc_transport.h"
#include "penstock/client.h"
#include "pipeline/plan/state.h"

namespace penstock {
namespace {

class ReaderImpl final : public Reader {
 public:
  explicit ReaderImpl(OpenedSession opened)
      : steps_(opened.steps),
        format_(opened.job.format),
        state_{kStateVersion, 0, 0, opened.job.order_fingerprint, opened.job.pipeline_fingerprint},
        session_(std::make_shared<Session>(std::move(opened.job), opened.steps, std::move(opened.options),
                                           std::move(opened.coordinator), std::make_unique<GrpcTransport>(),
                                           Clock::Real())) {
    session_->Start(std::move(opened.view));
  }

  ~ReaderImpl() override { session_->Stop(); }

  absl::StatusOr<Batch> Next(absl::Duration timeout) override {
    absl::StatusOr<Batch> batch = session_->Next(timeout);
    MutexLock lock(&mutex_);
    status_ = absl::IsOutOfRange(batch.status()) ? absl::OkStatus() : batch.status();
    return batch;
  }

  absl::Status status() const override {
    MutexLock lock(&mutex_);
    return status_;
  }

  std::string SaveState() const override {
    SessionState state = state_;
    const Cursor cursor = session_->cursor();
    state.epoch = cursor.epoch;
    state.position = cursor.position;
    return SerializeState(state);
  }

  uint64_t steps_per_epoch() const override { return steps_.StepsPerEpoch(); }
  uint64_t steps_left_in_epoch() const override { return steps_.StepsFrom(session_->cursor().position); }
  uint64_t rows_per_epoch() const override { return steps_.positions(); }
  const std::vector<ColumnInfo>& columns() const override { return format_->infos; }
  ReaderStats Stats() const override { return session_->Stats(); }
  void Cancel() override { session_->Cancel(); }

 private:
  const Steps steps_;
  const std::shared_ptr<const BatchFormat> format_;
  const SessionState state_;  // without the cursor
  const std::shared_ptr<Session> session_;
  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // of the last Next
};

}  // namespace

absl::StatusOr<std::unique_ptr<Reader>> Reader::Open(const ConnectOptions& connect, const ReaderOptions& options) {
  PS_ASSIGN_OR_RETURN(OpenedSession opened, OpenSession(connect, options));
  return std::make_unique<ReaderImpl>(std::move(opened));
}

Reader::BatchRange Reader::Batches(absl::Duration timeout_each) { return BatchRange(this, timeout_each); }

void Reader::BatchRange::Advance() {
  current_.reset();  // its memory may serve the next one
  absl::StatusOr<Batch> batch = reader_->Next(timeout_);
  if (batch.ok()) current_ = *std::move(batch);
}

}  // namespace penstock
