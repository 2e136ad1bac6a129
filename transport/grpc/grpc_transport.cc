#include "transport/grpc/grpc_transport.h"

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "net/call_token.h"
#include "net/channel.h"
#include "net/grpc_status.h"
#include "net/tls/handshake_fault.h"
#include "transport/grpc/byte_buffer.h"
#include "transport/grpc/lane_metadata.h"
#include "transport/lanes/laned_client.h"
#include "transport/peer.h"

namespace penstock::transport {
namespace {

constexpr char kMethod[] = "/penstock.v1.Worker/Stream";

std::string TicketFor(const WorkerAddress& worker) { return worker.ticket == nullptr ? "" : worker.ticket(); }

// Returns an error if only one of client and worker uses TLS, or if the connection would expose the ticket.
absl::Status SecurityFault(const WorkerAddress& worker, const net::ClientSecurity& security) {
  if (security.tls() == !worker.tls_name.empty()) {
    return TicketFor(worker).empty() ? absl::OkStatus() : security.MayShow("ticket", worker.network);
  }
  return absl::FailedPreconditionError(
      security.tls()
          ? absl::StrCat("the worker at ", worker.network, " serves plaintext, and this client has a CA (",
                         security.certificates->files().ca, "); start the worker with --tls-cert and --tls-key")
          : absl::StrCat("the worker at ", worker.network, " serves TLS as ", worker.tls_name,
                         "; name the CA of its certificate with --tls-ca (tls_ca= in Python, or "
                         "PENSTOCK_TLS_CA)"));
}

// The generated stub parses every reply as one protobuf. This class uses the generic stub instead, so that messages
// arrive as the slices that the connection read. Any thread may start an operation while a hold keeps the call alive.
// The hold is removed when the stream closes and no thread is starting an operation. Reactions never block. The lock is
// never held while an operation starts.
class GrpcClientStream final : public MessageStream,
                               public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                               public std::enable_shared_from_this<GrpcClientStream> {
 public:
  // With a `fault`, connects to nothing, and ends with the fault.
  GrpcClientStream(const WorkerAddress& worker, const net::ClientSecurity& security, const LaneCall& lane,
                   std::shared_ptr<StreamEvents> events, absl::Status fault)
      : peer_(Peer::Network(worker.network)),
        security_(security),
        fault_(std::move(fault)),
        events_(std::move(events)),
        channel_(fault_.ok() ? net::MakeChannel(worker.network, net::ChannelUse::kRows, security, worker.tls_name)
                             : grpc::CreateChannel(worker.network, nullptr)),  // a channel whose calls fail
        stub_(channel_) {
    context_.AddMetadata(lane.joins ? kJoinsStream : kBeginsStream, lane.stream);
    if (fault_.ok()) net::AddTicket(&context_, TicketFor(worker));
  }

  void Start() {
    {
      MutexLock lock(&mutex_);
      self_ = shared_from_this();  // until OnDone
    }
    stub_.PrepareBidiStreamingCall(&context_, kMethod, {}, this);
    AddHold();
    StartCall();
  }

  void StartRead() override {
    if (!Begin()) return;
    grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>::StartRead(&received_);
    Began();
  }

  void StartWrite(SliceList message) override {
    {
      MutexLock lock(&mutex_);
      if (closing_ || deaf_) return;
      ++starting_;
    }
    sending_ = ToByteBuffer(message);
    grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>::StartWrite(&sending_);
    Began();
  }

  void Close(absl::Status) override {
    End();
    context_.TryCancel();
  }

  Peer peer() const override { return peer_; }
  std::string_view carrier() const override { return "grpc"; }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      End();
      return;
    }
    received_one_ = true;
    grpc::ByteBuffer buffer;
    buffer.Swap(&received_);
    absl::StatusOr<SliceList> message = FromByteBuffer(buffer);
    if (message.ok()) {
      events_->OnMessage(*std::move(message));
    } else {
      Close(message.status());
    }
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      events_->OnWritten();
    } else {
      // The worker has ended the call. Its remaining messages and its status are still unread. gRPC ends the call after
      // they are read, not before.
      MutexLock lock(&mutex_);
      deaf_ = true;
    }
  }

  // gRPC may call this on a thread that never handled the call before. The lock orders it after all work of other
  // threads on this object, without relying on gRPC's own synchronization.
  void OnDone(const grpc::Status& status) override {
    std::shared_ptr<GrpcClientStream> self;  // may be the last reference
    {
      MutexLock lock(&mutex_);
      self = std::move(self_);
    }
    absl::Status end = fault_.ok() ? net::FromGrpc(status) : fault_;
    // Without TLS at both ends there was no handshake, and after a message it had succeeded.
    if (security_.tls() && !received_one_) end = net::ExplainHandshake(std::move(end), security_);
    events_->OnClosed(end);
    events_.reset();
  }

  // Begin and Began enclose the start of an operation. Begin returns false if the stream is closing, and then no
  // operation may start.
  bool Begin() {
    MutexLock lock(&mutex_);
    if (closing_) return false;
    ++starting_;
    return true;
  }
  void Began() {
    bool drop = false;
    {
      MutexLock lock(&mutex_);
      --starting_;
      drop = DropsHold();
    }
    if (drop) RemoveHold();
  }

  void End() {
    bool drop = false;
    {
      MutexLock lock(&mutex_);
      closing_ = true;
      drop = DropsHold();
    }
    if (drop) RemoveHold();
  }

  // Returns true to one caller, which must remove the hold.
  bool DropsHold() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!closing_ || starting_ > 0 || !held_) return false;
    held_ = false;
    return true;
  }

  const Peer peer_;
  const net::ClientSecurity security_;
  const absl::Status fault_;
  std::shared_ptr<StreamEvents> events_;
  grpc::ClientContext context_;
  std::shared_ptr<grpc::Channel> channel_;
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub_;
  grpc::ByteBuffer received_;  // buffer of the current read
  std::atomic<bool> received_one_{false};
  grpc::ByteBuffer sending_;  // buffer of the current write

  Mutex mutex_;
  std::shared_ptr<GrpcClientStream> self_ ABSL_GUARDED_BY(mutex_);
  int starting_ ABSL_GUARDED_BY(mutex_) = 0;  // operations that threads are starting outside the lock
  bool held_ ABSL_GUARDED_BY(mutex_) = true;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool deaf_ ABSL_GUARDED_BY(mutex_) = false;  // the worker accepts no more messages
};

// Runs `task` on a gRPC callback thread, as an alarm that is due now.
void PostToGrpc(Task task) {
  struct Posted {
    grpc::Alarm alarm;
    Task task;
  };
  auto* const posted = new Posted{{}, std::move(task)};
  posted->alarm.Set(std::chrono::system_clock::now(), [posted](bool) {
    const std::unique_ptr<Posted> mine(posted);
    std::move(mine->task)();
  });
}

}  // namespace

absl::Status ProbeOverNetwork(const WorkerAddress& worker, const net::ClientSecurity& security,
                              absl::Duration timeout) {
  PS_RETURN_IF_ERROR(SecurityFault(worker, security));
  grpc::GenericStub stub(net::MakeChannel(worker.network, net::ChannelUse::kRows, security, worker.tls_name));
  grpc::ClientContext context;
  net::PrepareCall(&context, timeout);
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer reply;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, "/penstock.v1.Worker/Probe", grpc::StubOptions(), &request, &reply,
                 [&ended](grpc::Status status) { ended.set_value(std::move(status)); });
  const absl::Status status = net::FromGrpc(ended.get_future().get());
  return absl::IsUnimplemented(status) ? absl::OkStatus() : net::ExplainHandshake(status, security);
}

std::shared_ptr<MessageStream> GrpcTransport::Connect(const WorkerAddress& worker,
                                                      std::shared_ptr<StreamEvents> events) {
  ConnectLane connect = [worker, security = security_](const LaneCall& lane, std::shared_ptr<StreamEvents> of_lane) {
    auto stream =
        std::make_shared<GrpcClientStream>(worker, security, lane, std::move(of_lane), SecurityFault(worker, security));
    stream->Start();
    return stream;
  };
  return ConnectLanes(std::move(connect), std::move(events), &PostToGrpc, Clock::Real(), offer_);
}

}  // namespace penstock::transport
