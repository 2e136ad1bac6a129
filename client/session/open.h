// Opening a session: from the caller's options to a job that is ready, a place in it, and a view to begin with.
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

namespace penstock {

struct OpenedSession {
  JobInfo job;
  Steps steps;
  SessionOptions options;
  std::shared_ptr<const View> view;
};

// Asks the coordinator for a session until it is reached, and follows the job until it is open to reading: ready, with
// a worker. Nothing blocks. Let go of when `executor` runs nothing of it any more, as a Session.
class SessionOpener {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<OpenedSession>) &&>;

  // `executor` outlives it. `process`: as v1::OpenSessionRequest has it.
  SessionOpener(Executor* executor, std::shared_ptr<CoordinatorClient> coordinator, ReaderOptions options,
                uint64_t process = 0);
  ~SessionOpener() { mailbox_->Close(); }

  // Once. `done` is called on the executor, within `timeout` and the half second that closing a session takes that
  // cannot be used. Errors as Reader::Open says them.
  void Open(Nanos timeout, Done done);

 private:
  void Reach();
  void Reached(absl::StatusOr<v1::OpenSessionReply> reply);
  // The coordinator is there, but has no session to give yet.
  void NotYet(const std::string& why);
  // Goes on with the job as it is known: waits for news of it, or ends.
  void Look();
  void Watch();
  void Watched(absl::StatusOr<v1::WatchReply> reply);
  // The job as it is known.
  v1::Job KnownJob() const;
  absl::StatusOr<OpenedSession> Make();
  void End(absl::StatusOr<OpenedSession> opened);

  const std::shared_ptr<CoordinatorClient> coordinator_;
  const ReaderOptions options_;
  const uint64_t process_;
  Strand strand_;
  const std::shared_ptr<Mailbox> mailbox_;
  Done done_ ABSL_GUARDED_BY(strand_);
  std::optional<SessionState> saved_ ABSL_GUARDED_BY(strand_);
  v1::OpenSessionRequest request_ ABSL_GUARDED_BY(strand_);
  Nanos deadline_ ABSL_GUARDED_BY(strand_) = 0;
  Nanos give_up_ ABSL_GUARDED_BY(strand_) = 0;  // reaching the coordinator
  Nanos tell_ ABSL_GUARDED_BY(strand_) = 0;     // when on_wait is told next
  v1::OpenSessionReply session_ ABSL_GUARDED_BY(strand_);
  JobMirror watched_ ABSL_GUARDED_BY(strand_);
  absl::Status away_ ABSL_GUARDED_BY(strand_);  // of the last watch
  StrandTimer again_ ABSL_GUARDED_BY(strand_);
};

// How many steps are booked ahead: as many as fit both limits, at least 2.
uint64_t WindowSteps(uint64_t prefetch_steps, uint64_t prefetch_bytes, uint64_t step_bytes);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_OPEN_H_
