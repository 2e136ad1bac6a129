#include "transport/grpc/grpc_acceptor.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "net/call_token.h"
#include "net/grpc_status.h"
#include "penstock/v1/data.grpc.pb.h"
#include "transport/grpc/byte_buffer.h"
#include "transport/grpc/grpc_peer.h"
#include "transport/grpc/lane_metadata.h"
#include "transport/peer.h"

namespace penstock::transport {
namespace {

// One stream. gRPC requires one call of Finish, with no write in flight and no operation after it. Operations start
// outside the lock, so the last thread that is starting an operation finishes the stream if it is ending.
class GrpcServerStream final : public MessageStream,
                               public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                               public std::enable_shared_from_this<GrpcServerStream> {
 public:
  GrpcServerStream(grpc::CallbackServerContext* context, Peer peer, Executor* executor)
      : executor_(executor), peer_(std::move(peer)), context_(context) {}

  void Accept(LaneAcceptor* acceptor, const std::optional<LaneCall>& call) {
    {
      MutexLock lock(&mutex_);
      self_ = shared_from_this();  // until OnDone
    }
    // gRPC defers operations started here until it knows this reactor, so no event runs before this function returns.
    std::shared_ptr<StreamEvents> events = acceptor->Accept(shared_from_this(), call);
    MutexLock lock(&mutex_);
    events_ = std::move(events);
  }

  // MessageStream.
  void StartRead() override {
    if (!Enter()) return;
    ServerBidiReactor::StartRead(&incoming_);
    Leave();
  }

  void StartWrite(SliceList message) override {
    {
      MutexLock lock(&mutex_);
      if (closing_) return;
      writing_ = true;
      ++starting_;
    }
    outgoing_ = ToByteBuffer(message);
    message = SliceList();
    ServerBidiReactor::StartWrite(&outgoing_);
    Leave();
  }

  void Close(absl::Status status) override { End(std::move(status)); }
  SendsFrom sends_from() const override { return SendsFrom::kAnywhere; }
  Peer peer() const override { return peer_; }
  std::string_view carrier() const override { return "grpc"; }

  // Called on gRPC's threads.
  void OnReadDone(bool ok) override {
    if (!ok) {  // the client has sent its last message, or has disconnected
      End(absl::OkStatus());
      return;
    }
    absl::StatusOr<SliceList> message = FromByteBuffer(incoming_);
    incoming_.Clear();
    if (!message.ok()) {
      End(message.status());
      return;
    }
    std::shared_ptr<StreamEvents> events;
    {
      MutexLock lock(&mutex_);
      if (closing_) return;
      events = events_;
    }
    events->OnMessage(*std::move(message));
  }

  void OnWriteDone(bool ok) override {
    outgoing_.Clear();
    std::shared_ptr<StreamEvents> events;
    {
      MutexLock lock(&mutex_);
      writing_ = false;
      ++starting_;
      if (!closing_) events = events_;
    }
    if (!ok) {
      End(absl::OkStatus());
    } else if (events != nullptr) {
      events->OnWritten();
    }
    Leave();
  }

  void OnCancel() override { End(absl::OkStatus()); }

  // The last event. gRPC destroys the context when this returns.
  void OnDone() override {
    std::shared_ptr<GrpcServerStream> self;
    std::shared_ptr<StreamEvents> events;
    absl::Status status;
    TimerId timer = 0;
    {
      MutexLock lock(&mutex_);
      self = std::move(self_);
      events = std::move(events_);
      status = status_;
      closing_ = true;
      context_ = nullptr;
      timer = grace_;
    }
    if (timer != 0) executor_->Cancel(timer);
    events->OnClosed(status);
  }

 private:
  bool Enter() {
    MutexLock lock(&mutex_);
    if (closing_) return false;
    ++starting_;
    return true;
  }

  // The last thread to leave finishes the stream if it is ending.
  void Leave() {
    absl::Status status;
    {
      MutexLock lock(&mutex_);
      if (--starting_ > 0 || writing_ || !closing_ || finished_) return;
      finished_ = true;
      status = status_;
    }
    Finish(net::ToGrpc(status));
  }

  // Ends the stream, on behalf of the worker or, with OK, of the client. The first call counts.
  void End(absl::Status status) {
    {
      MutexLock lock(&mutex_);
      if (closing_) return;
      closing_ = true;
      status_ = std::move(status);
      ++starting_;
      if (context_ != nullptr) {
        grace_ = executor_->PostAt(executor_->clock()->Now() + kGrpcCloseGrace, [weak = weak_from_this()] {
          if (const std::shared_ptr<GrpcServerStream> stream = weak.lock()) stream->BreakOff();
        });
      }
    }
    Leave();
  }

  // TryCancel does not block. The lock keeps OnDone from running, and so keeps the context alive.
  void BreakOff() {
    MutexLock lock(&mutex_);
    if (context_ != nullptr) context_->TryCancel();
  }

  Executor* const executor_;
  const Peer peer_;
  grpc::ByteBuffer incoming_, outgoing_;  // buffers of the current read and write

  Mutex mutex_;
  std::shared_ptr<GrpcServerStream> self_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<StreamEvents> events_ ABSL_GUARDED_BY(mutex_);
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mutex_);  // null after OnDone
  absl::Status status_ ABSL_GUARDED_BY(mutex_);                   // final status
  TimerId grace_ ABSL_GUARDED_BY(mutex_) = 0;
  int starting_ ABSL_GUARDED_BY(mutex_) = 0;  // operations that threads are starting outside the lock
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

std::optional<LaneCall> LaneCallOf(const grpc::CallbackServerContext& context) {
  for (const char* key : {kBeginsStream, kJoinsStream}) {
    const auto found = context.client_metadata().find(key);
    if (found == context.client_metadata().end()) continue;
    return LaneCall{std::string(found->second.data(), found->second.size()), key == kJoinsStream};
  }
  return std::nullopt;
}

// A call that `admit` rejects.
class RejectedStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RejectedStream(const absl::Status& status) { Finish(net::ToGrpc(status)); }
  void OnDone() override { delete this; }
};

class GrpcStreamService final : public v1::Worker::WithRawCallbackMethod_Stream<v1::Worker::Service> {
 public:
  GrpcStreamService(StreamAcceptor* acceptor, Executor* executor, const LaneOptions& lanes, AdmitPeer admit)
      : acceptor_(acceptor, executor, lanes), executor_(executor), admit_(std::move(admit)) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(grpc::CallbackServerContext* context) override {
    Peer peer = PeerOf(*context);
    if (admit_ != nullptr) {
      const absl::Status status = admit_(net::TicketIn(context->client_metadata()), &peer);
      if (!status.ok()) return new RejectedStream(status);
    }
    auto stream = std::make_shared<GrpcServerStream>(context, std::move(peer), executor_);
    stream->Accept(&acceptor_, LaneCallOf(*context));
    return stream.get();  // the stream keeps itself alive until OnDone
  }

 private:
  LaneAcceptor acceptor_;
  Executor* const executor_;
  const AdmitPeer admit_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeGrpcStreamService(StreamAcceptor* acceptor, Executor* executor,
                                                     const LaneOptions& lanes, AdmitPeer admit) {
  return std::make_unique<GrpcStreamService>(acceptor, executor, lanes, std::move(admit));
}

}  // namespace penstock::transport
