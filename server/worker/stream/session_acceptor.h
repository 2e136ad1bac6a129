// The sessions of a worker: whatever carries their streams.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SESSION_ACCEPTOR_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SESSION_ACCEPTOR_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/worker/stream/stream_session.h"

namespace penstock {

// Thread-safe. Sessions whose streams never close, since their carrier died with a simulated host, are let go of with
// it; elsewhere it outlives them.
class SessionAcceptor final : public StreamAcceptor {
 public:
  // `shared` outlives this.
  explicit SessionAcceptor(SessionShared* shared) : shared_(shared) {}

  std::shared_ptr<StreamEvents> Accept(std::shared_ptr<MessageStream> stream) override;

  // Tells every session, and all that come, that this worker will leave.
  void SendDraining();
  // Ends every session with `status`, and all that come.
  void CloseAll(absl::Status status);

  // Sessions whose stream is open, or for which rows are still being made.
  size_t sessions() const;
  // Calls `idle` on the executor once there is none.
  void WhenIdle(Task idle);

 private:
  void Remove(StreamSession* session);

  SessionShared* const shared_;
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<StreamSession>> sessions_ ABSL_GUARDED_BY(mutex_);  // in the order of their coming
  std::vector<Task> when_idle_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> closing_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SESSION_ACCEPTOR_H_
