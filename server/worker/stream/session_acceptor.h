// The sessions of a worker, over any carrier of their streams.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SESSION_ACCEPTOR_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SESSION_ACCEPTOR_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/tickets/ticket_gate.h"
#include "server/worker/stream/stream_session.h"

namespace penstock::worker {

// Thread-safe. Must outlive its sessions. Only a simulated host may die with open streams; their sessions are then
// destroyed with the acceptor.
class SessionAcceptor final : public transport::StreamAcceptor {
 public:
  // Sets shared->reclaim_from_silent. `shared` must outlive this.
  explicit SessionAcceptor(SessionShared* shared);
  ~SessionAcceptor() override;

  std::shared_ptr<transport::StreamEvents> Accept(std::shared_ptr<transport::MessageStream> stream) override;

  // Notifies all current and future sessions that this worker will leave.
  void SendDraining();
  // Ends the sessions whose peer's ticket was revoked.
  void CloseRevoked(const server::TicketGate& gate);
  // Ends all current and future sessions with `status`.
  void CloseAll(absl::Status status);

  // Returns the number of sessions whose stream is open, or for which the loader is still making rows.
  size_t sessions() const;
  // Posts `idle` to the executor as soon as there is no session.
  void WhenIdle(Task idle);

 private:
  void Remove(StreamSession* session);
  // Implements SessionShared::reclaim_from_silent.
  bool ReclaimFromSilent();

  SessionShared* const shared_;
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<StreamSession>> sessions_ ABSL_GUARDED_BY(mutex_);  // in order of arrival
  std::vector<Task> when_idle_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> closing_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SESSION_ACCEPTOR_H_
