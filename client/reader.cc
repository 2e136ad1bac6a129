#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/runtime/random_source.h"
#include "base/runtime/thread_pool.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "client/assembly/batch_changes.h"
#include "client/assembly/dataset_counts.h"
#include "client/session/open.h"
#include "client/session/session.h"
#include "client/transport/grpc_coordinator_client.h"
#include "net/address.h"
#include "net/tls/client_security.h"
#include "penstock/client.h"
#include "pipeline/plan/state.h"
#include "transport/grpc/grpc_transport.h"
#include "transport/shared_memory/shared_memory_transport.h"

namespace penstock {
namespace {

// Returns a random number that identifies this process among all processes.
uint64_t ProcessId() {
  static const uint64_t drawn = RandomSource::Real()->Next();
  const uint64_t id = HashWords({drawn, static_cast<uint64_t>(getpid())});  // a fork is another process
  return id != 0 ? id : 1;
}

// More than the time limit of Session::Close: only executors that hang take longer.
constexpr std::chrono::seconds kClosedWithin(1);

// Set by one thread, waited for by another.
class Event {
 public:
  void Set() {
    MutexLock lock(&mutex_);
    set_ = true;
    changed_.NotifyAll();
  }
  void Wait() {
    MutexLock lock(&mutex_);
    while (!set_) changed_.Wait(&mutex_);
  }
  void WaitFor(std::chrono::nanoseconds timeout) {
    MutexLock lock(&mutex_);
    if (!set_) changed_.WaitFor(&mutex_, timeout);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
};

// The threads of a reader. Bookkeeping has a thread of its own, so that copying does not delay it.
struct Threads {
  explicit Threads(int copiers)
      : copy_threads(copiers), control(1, "penstock-ctl"), copying(copiers, "penstock-copy") {}
  const int copy_threads;
  ThreadPool control;
  ThreadPool copying;
};

absl::StatusOr<std::string> CoordinatorAddress(const ConnectOptions& connect) {
  std::string address = connect.coordinator;
  if (address.empty()) {
    const char* from_environment = std::getenv("PENSTOCK_COORDINATOR");
    address = from_environment != nullptr && *from_environment != '\0' ? from_environment : "localhost";
  }
  PS_ASSIGN_OR_RETURN(const net::Address parsed, net::ParseAddress(address, net::kCoordinatorPort));
  return parsed.ToString();
}

class ReaderImpl final : public Reader {
 public:
  ReaderImpl(client::OpenedSession opened, std::shared_ptr<client::CoordinatorClient> coordinator,
             std::unique_ptr<Threads> threads, const net::ClientSecurity& security)
      : job_(opened.job.name),
        steps_(opened.steps),
        format_(opened.job.format),
        state_{plan::kStateVersion, 0, 0, opened.job.order_fingerprint, opened.job.pipeline_fingerprint},
        datasets_(opened.job.order),
        network_(transport::LaneOffer(), security),
        threads_(std::move(threads)),
        shared_memory_(&network_, &threads_->control),
        session_(std::make_unique<client::Session>(
            std::move(opened.job), opened.steps, std::move(opened.options), std::move(coordinator),
            client::SessionRuntime{&threads_->control, &threads_->copying, &shared_memory_,
                                   static_cast<uint32_t>(threads_->copy_threads)})) {
    session_->Start(std::move(opened.view));
  }

  ~ReaderImpl() override {
    auto closed = std::make_shared<Event>();
    session_->Close([closed] { closed->Set(); });
    closed->WaitFor(kClosedWithin);
    threads_->copying.Stop();
    threads_->control.Stop();
    session_.reset();
  }

  absl::StatusOr<Batch> Next(absl::Duration timeout) override {
    absl::StatusOr<Batch> batch = session_->Next(timeout);
    MutexLock lock(&mutex_);
    if (batch.ok()) datasets_.Add(batch->datasets());
    status_ = absl::IsOutOfRange(batch.status()) ? absl::OkStatus() : batch.status();
    return batch;
  }

  absl::Status status() const override {
    MutexLock lock(&mutex_);
    return status_;
  }

  std::string SaveState() const override {
    plan::SessionState state = state_;
    const plan::Cursor cursor = session_->cursor();
    state.epoch = cursor.epoch;
    state.position = cursor.position;
    return plan::SerializeState(state);
  }

  uint64_t steps_per_epoch() const override { return steps_.StepsOf(session_->cursor().epoch); }
  uint64_t steps_left_in_epoch() const override { return steps_.StepsFrom(session_->cursor()); }
  uint64_t step_in_epoch() const override { return steps_.NumberAt(session_->cursor()); }
  uint64_t rows_per_epoch() const override { return steps_.positions(); }
  const std::string& job() const override { return job_; }
  uint64_t batch_size() const override { return steps_.sizes().first; }
  std::vector<BatchChange> batch_changes() const override { return client::BatchChangesOf(steps_); }
  uint64_t batch_multiple() const override { return client::BatchMultipleOf(steps_); }
  std::string_view last_batch() const override { return plan::LastBatchName(steps_.last()); }
  const std::vector<ColumnInfo>& columns() const override { return format_->infos; }
  const std::vector<std::string>& datasets() const override { return format_->sets; }
  ReaderStats Stats() const override {
    ReaderStats stats = session_->Stats();
    const plan::Cursor cursor = session_->cursor();
    MutexLock lock(&mutex_);
    stats.datasets = datasets_.At(cursor);
    return stats;
  }
  void Cancel() override { session_->Cancel(); }

 private:
  const std::string job_;
  const plan::Steps steps_;
  const std::shared_ptr<const BatchFormat> format_;
  const plan::SessionState state_;  // without the cursor
  client::DatasetCounts datasets_ ABSL_GUARDED_BY(mutex_);
  transport::GrpcTransport network_;
  const std::unique_ptr<Threads> threads_;
  transport::SharedMemoryTransport shared_memory_;  // for workers on this host; to others through network_
  std::unique_ptr<client::Session> session_;
  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // the result of the last Next
};

}  // namespace

absl::StatusOr<std::unique_ptr<Reader>> Reader::Open(const ConnectOptions& connect, const ReaderOptions& options) {
  PS_ASSIGN_OR_RETURN(const std::string address, CoordinatorAddress(connect));
  PS_ASSIGN_OR_RETURN(const net::ClientSecurity security,
                      net::OpenClientSecurity({connect.tls_cert, connect.tls_key, connect.tls_ca}, connect.token_file));
  auto coordinator = std::make_shared<client::GrpcCoordinatorClient>(address, security);
  auto threads =
      std::make_unique<Threads>(options.copy_threads > 0 ? options.copy_threads : std::max(1, AvailableCpus() / 4));
  if (threads->control.GrowTo(1) == 0 || threads->copying.GrowTo(1) == 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system refuses the threads of a reader (", ThreadLimits(), ")"));
  }
  struct Result {
    Event done;
    absl::StatusOr<client::OpenedSession> opened = absl::UnknownError("");
  };
  auto result = std::make_shared<Result>();
  auto opener = std::make_unique<client::SessionOpener>(&threads->control, coordinator, options, ProcessId());
  opener->Open(absl::ToInt64Nanoseconds(std::clamp(connect.open_timeout, absl::ZeroDuration(), absl::Hours(87600))),
               [result](absl::StatusOr<client::OpenedSession> opened) {
                 result->opened = std::move(opened);
                 result->done.Set();
               });
  result->done.Wait();
  if (!result->opened.ok()) {
    threads->control.Stop();
    return result->opened.status();
  }
  return std::make_unique<ReaderImpl>(*std::move(result->opened), std::move(coordinator), std::move(threads), security);
}

Reader::BatchRange Reader::Batches(absl::Duration timeout_each) { return BatchRange(this, timeout_each); }

void Reader::BatchRange::Advance() {
  current_.reset();  // its memory may serve the next one
  absl::StatusOr<Batch> batch = reader_->Next(timeout_);
  if (batch.ok()) current_ = *std::move(batch);
}

}  // namespace penstock
