#include "client/transport/grpc_transport.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/client_callback.h>

#include <deque>
#include <utility>

#include "base/mutex.h"
#include "net/channel.h"
#include "net/grpc_status.h"

namespace penstock {
namespace {

constexpr char kMethod[] = "/penstock.v1.Worker/Stream";

// The generated stub parses every reply as one protobuf, so the call goes through the generic stub: messages arrive as
// the slices that the connection read. Operations may be started from any thread while a hold keeps the call alive;
// the hold goes once the stream closes and no operation is being started. Reactions never wait; the lock is never held
// while an operation starts.
class GrpcStream final : public WorkerStream,
                         public grpc::ClientBidiReactor<v1::ClientMessage, grpc::ByteBuffer>,
                         public std::enable_shared_from_this<GrpcStream> {
 public:
  GrpcStream(uint64_t number, const std::string& address, std::shared_ptr<StreamEvents> events)
      : number_(number), events_(std::move(events)), channel_(MakeChannel(address)), stub_(channel_) {}

  void Start() {
    {
      MutexLock lock(&mutex_);
      self_ = shared_from_this();  // until OnDone
    }
    stub_.PrepareBidiStreamingCall(&context_, kMethod, {}, this);
    AddHold();
    StartRead(&received_);
    StartCall();
  }

  void Send(v1::ClientMessage message) override {
    bool overflow = false;
    {
      MutexLock lock(&mutex_);
      if (closing_) return;
      overflow = queue_.size() >= kMaxQueuedMessages;
      if (!overflow) queue_.push_back(std::move(message));
    }
    if (overflow) {
      Cancel();
    } else {
      WriteNext();
    }
  }

  void Consumed(size_t bytes) override {
    {
      MutexLock lock(&mutex_);
      backlog_ -= bytes;
      if (!paused_ || closing_ || backlog_ > kMaxBacklogBytes / 2) return;
      paused_ = false;
      ++starting_;
    }
    StartRead(&received_);
    Started();
  }

  void Cancel() override {
    Close();
    context_.TryCancel();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      Close();
      return;
    }
    grpc::ByteBuffer message;
    message.Swap(&received_);
    bool more = true;
    {
      MutexLock lock(&mutex_);
      backlog_ += message.Length();
      if (backlog_ > kMaxBacklogBytes) {
        paused_ = true;
        more = false;
      }
    }
    events_->OnMessage(number_, std::move(message));
    if (more) StartRead(&received_);
  }

  void OnWriteDone(bool ok) override {
    {
      MutexLock lock(&mutex_);
      writing_ = false;
    }
    if (ok) {
      WriteNext();
    } else {
      Close();
    }
  }

  // Also called on a thread of gRPC's that had nothing to do with the call before. The lock orders it behind all that
  // others did here, by our own means and not only by gRPC's.
  void OnDone(const grpc::Status& status) override {
    std::shared_ptr<GrpcStream> self;  // may be the last
    {
      MutexLock lock(&mutex_);
      self = std::move(self_);
    }
    events_->OnClosed(number_, FromGrpc(status));
    events_.reset();
  }

  void WriteNext() {
    {
      MutexLock lock(&mutex_);
      if (writing_ || closing_ || queue_.empty()) return;
      sending_ = std::move(queue_.front());
      queue_.pop_front();
      writing_ = true;
      ++starting_;
    }
    StartWrite(&sending_);
    Started();
  }

  void Started() {
    bool drop = false;
    {
      MutexLock lock(&mutex_);
      --starting_;
      drop = DropsHold();
    }
    if (drop) RemoveHold();
  }

  void Close() {
    bool drop = false;
    {
      MutexLock lock(&mutex_);
      closing_ = true;
      queue_.clear();
      drop = DropsHold();
    }
    if (drop) RemoveHold();
  }

  // Whether the caller is to remove the hold, which happens once.
  bool DropsHold() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!closing_ || starting_ > 0 || !held_) return false;
    held_ = false;
    return true;
  }

  const uint64_t number_;
  std::shared_ptr<StreamEvents> events_;
  grpc::ClientContext context_;
  std::shared_ptr<grpc::Channel> channel_;
  grpc::TemplatedGenericStub<v1::ClientMessage, grpc::ByteBuffer> stub_;
  grpc::ByteBuffer received_;  // of the read under way
  v1::ClientMessage sending_;  // of the write under way

  Mutex mutex_;
  std::shared_ptr<GrpcStream> self_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::ClientMessage> queue_ ABSL_GUARDED_BY(mutex_);
  size_t backlog_ ABSL_GUARDED_BY(mutex_) = 0;
  int starting_ ABSL_GUARDED_BY(mutex_) = 0;  // operations being started outside the lock
  bool held_ ABSL_GUARDED_BY(mutex_) = true;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;  // no read is under way
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::shared_ptr<WorkerStream> GrpcTransport::Open(uint64_t stream, const std::string& address,
                                                  std::shared_ptr<StreamEvents> events) {
  auto opened = std::make_shared<GrpcStream>(stream, address, std::move(events));
  opened->Start();
  return opened;
}

}  // namespace penstock
