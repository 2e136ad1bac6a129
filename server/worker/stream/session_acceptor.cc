#include "server/worker/stream/session_acceptor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::worker {
namespace {

// Events of a stream that was closed at once.
class Refused final : public transport::StreamEvents {
 public:
  void OnMessage(transport::SliceList) override {}
  void OnWritten() override {}
  void OnClosed(const absl::Status&) override {}
};

}  // namespace

SessionAcceptor::SessionAcceptor(SessionShared* shared) : shared_(shared) {
  shared_->reclaim_from_silent = [this] { return ReclaimFromSilent(); };
}

SessionAcceptor::~SessionAcceptor() { shared_->reclaim_from_silent = nullptr; }

bool SessionAcceptor::ReclaimFromSilent() {
  std::vector<std::shared_ptr<StreamSession>> sessions;
  {
    MutexLock lock(&mutex_);
    sessions = sessions_;
  }
  bool any = false;
  for (const auto& session : sessions) any = session->ReclaimIfSilent() || any;
  return any;
}

std::shared_ptr<transport::StreamEvents> SessionAcceptor::Accept(std::shared_ptr<transport::MessageStream> stream) {
  // Streams that have not sent their `open` yet are also bounded.
  const size_t most = 2 * size_t{shared_->max_sessions} + 16;
  std::shared_ptr<StreamSession> session;
  absl::Status refusal;
  bool draining = false;
  {
    MutexLock lock(&mutex_);
    draining = draining_;
    if (closing_) {
      refusal = *closing_;
    } else if (sessions_.size() >= most) {
      refusal = absl::ResourceExhaustedError(absl::StrCat(
          "this worker has ", most, " streams open, and max_sessions allows ", shared_->max_sessions, " sessions"));
    } else {
      session = std::make_shared<StreamSession>(shared_, stream, [this](StreamSession* ended) { Remove(ended); });
      sessions_.push_back(session);
    }
  }
  if (session == nullptr) {
    shared_->rejections->Add(server::RejectionOf(stream->peer(), refusal));
    stream->Close(std::move(refusal));
    return std::make_shared<Refused>();
  }
  session->Start();
  if (draining) session->SendDraining();
  return session;
}

void SessionAcceptor::SendDraining() {
  std::vector<std::shared_ptr<StreamSession>> sessions;
  {
    MutexLock lock(&mutex_);
    draining_ = true;
    sessions = sessions_;
  }
  for (const auto& session : sessions) session->SendDraining();
}

void SessionAcceptor::CloseRevoked(const server::TicketGate& gate) {
  std::vector<std::shared_ptr<StreamSession>> revoked;
  {
    MutexLock lock(&mutex_);
    for (const auto& session : sessions_) {
      if (gate.IsRevoked(session->peer())) revoked.push_back(session);
    }
  }
  for (const auto& session : revoked) session->End(server::RevokedError(session->peer().name));
}

void SessionAcceptor::CloseAll(absl::Status status) {
  std::vector<std::shared_ptr<StreamSession>> sessions;
  {
    MutexLock lock(&mutex_);
    closing_ = status;
    sessions = sessions_;
  }
  for (const auto& session : sessions) session->End(status);
}

void SessionAcceptor::Remove(StreamSession* session) {
  std::shared_ptr<StreamSession> gone;  // destroyed outside the lock
  std::vector<Task> idle;
  {
    MutexLock lock(&mutex_);
    const auto found =
        std::find_if(sessions_.begin(), sessions_.end(), [session](const auto& kept) { return kept.get() == session; });
    gone = std::move(*found);
    sessions_.erase(found);
    if (sessions_.empty()) idle.swap(when_idle_);
  }
  for (Task& task : idle) shared_->executor->Post(std::move(task));
}

size_t SessionAcceptor::sessions() const {
  MutexLock lock(&mutex_);
  return sessions_.size();
}

void SessionAcceptor::WhenIdle(Task idle) {
  {
    MutexLock lock(&mutex_);
    if (!sessions_.empty()) {
      when_idle_.push_back(std::move(idle));
      return;
    }
  }
  shared_->executor->Post(std::move(idle));
}

}  // namespace penstock::worker
