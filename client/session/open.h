// Opens a session: from the caller's options to a ready job, a position in it, and a first view.
#ifndef PENSTOCK_CLIENT_SESSION_OPEN_H_
#define PENSTOCK_CLIENT_SESSION_OPEN_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/runtime/mailbox.h"
#include "base/runtime/strand.h"
#include "client/session/session.h"
#include "client/transport/coordinator_client.h"
#include "net/job_mirror.h"
#include "penstock/client.h"
#include "pipeline/plan/state.h"

namespace penstock::client {

struct OpenedSession {
  JobInfo job;
  plan::Steps steps;
  SessionOptions options;
  std::shared_ptr<const plan::View> view;
};

// Requests a session from the coordinator until the timeout, and follows the job until it is READY and has a worker.
// Reports the cause of the wait to ReaderOptions::on_wait from 3 s on. Never blocks. Like a Session, it must be
// destroyed only when `executor` runs none of its tasks.
class SessionOpener {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<OpenedSession>) &&>;

  // `executor` must outlive this object. `process` is the field of v1::OpenSessionRequest.
  SessionOpener(Executor* executor, std::shared_ptr<CoordinatorClient> coordinator, ReaderOptions options,
                uint64_t process = 0);
  ~SessionOpener() { mailbox_->Close(); }

  // Opens a session. Must be called at most once. Calls `done` on the executor with the session or an error of
  // Reader::Open, at most 1.5 s after `timeout`: the last call and the close of an unusable session may take that long.
  void Open(Nanos timeout, Done done);

 private:
  void Reach();
  void Reached(absl::StatusOr<v1::OpenSessionReply> reply);
  // Retries soon, or ends with `late` after the timeout.
  void AskAgain(absl::Status late);
  // Reports the cause of the wait to on_wait at `tell_`, and again later.
  void TellLater();
  // Ends if the known state of the job allows a result, or after the timeout. Otherwise watches the job.
  void Look();
  void Watch();
  void Watched(absl::StatusOr<v1::WatchReply> reply);
  // Returns the known state of the job.
  v1::Job KnownJob() const;
  absl::StatusOr<OpenedSession> Make();
  void End(absl::StatusOr<OpenedSession> opened);

  const std::shared_ptr<CoordinatorClient> coordinator_;
  const ReaderOptions options_;
  const uint64_t process_;
  Strand strand_;
  const std::shared_ptr<Mailbox> mailbox_;
  Done done_ ABSL_GUARDED_BY(strand_);
  std::optional<plan::SessionState> saved_ ABSL_GUARDED_BY(strand_);
  v1::OpenSessionRequest request_ ABSL_GUARDED_BY(strand_);
  Nanos deadline_ ABSL_GUARDED_BY(strand_) = 0;
  Nanos begun_ ABSL_GUARDED_BY(strand_) = 0;
  Nanos tell_ ABSL_GUARDED_BY(strand_) = 0;         // time of the next report to on_wait
  std::string waits_for_ ABSL_GUARDED_BY(strand_);  // cause of the wait, for display
  v1::OpenSessionReply session_ ABSL_GUARDED_BY(strand_);
  net::JobMirror watched_ ABSL_GUARDED_BY(strand_);
  absl::Status away_ ABSL_GUARDED_BY(strand_);  // error of the last watch
  StrandTimer again_ ABSL_GUARDED_BY(strand_);
  StrandTimer notice_ ABSL_GUARDED_BY(strand_);
};

// Returns the number of steps to book ahead: as many as both limits allow, at least 2.
uint64_t WindowSteps(uint64_t prefetch_steps, uint64_t prefetch_bytes, uint64_t step_bytes);

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_OPEN_H_
