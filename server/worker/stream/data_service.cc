#include "server/worker/stream/data_service.h"

#include <grpcpp/impl/codegen/proto_buffer_reader.h>

#include <chrono>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/grpc_status.h"

namespace penstock {
namespace {

absl::Status ParseClientMessage(grpc::ByteBuffer* buffer, v1::ClientMessage* message) {
  grpc::ProtoBufferReader reader(buffer);
  if (!reader.status().ok() || !message->ParseFromZeroCopyStream(&reader)) {
    return absl::InvalidArgumentError("a message that is no penstock.v1.ClientMessage");
  }
  return absl::OkStatus();
}

}  // namespace

class DataService::StreamReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                                         public MessageStream {
 public:
  explicit StreamReactor(DataService* service)
      : service_(service), session_(std::make_shared<StreamSession>(service->shared_, this)) {}

  const std::shared_ptr<StreamSession>& session() const { return session_; }

  // MessageStream.
  void StartRead() override { ServerBidiReactor::StartRead(&incoming_); }
  void StartWrite(grpc::ByteBuffer message) override {
    outgoing_ = std::move(message);
    ServerBidiReactor::StartWrite(&outgoing_);
  }
  void Finish(absl::Status status) override { ServerBidiReactor::Finish(ToGrpc(status)); }

  // gRPC's threads.
  void OnReadDone(bool ok) override {
    if (!ok) {
      session_->OnClosed();
      return;
    }
    v1::ClientMessage message;
    absl::Status parsed = ParseClientMessage(&incoming_, &message);
    incoming_.Clear();
    if (!parsed.ok()) {
      session_->OnBroken(std::move(parsed));
      return;
    }
    session_->OnMessage(std::move(message));
  }
  void OnWriteDone(bool ok) override {
    outgoing_.Clear();
    session_->OnWriteDone(ok);
  }
  void OnCancel() override { session_->OnClosed(); }
  void OnDone() override {
    service_->Remove(this);
    delete this;
  }

 private:
  DataService* const service_;
  const std::shared_ptr<StreamSession> session_;
  grpc::ByteBuffer incoming_, outgoing_;
};

DataService::~DataService() {
  MutexLock lock(&mutex_);
  PS_CHECK(streams_.empty());
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* DataService::Stream(grpc::CallbackServerContext*) {
  auto* reactor = new StreamReactor(this);
  bool draining = false;
  {
    MutexLock lock(&mutex_);
    streams_.insert(reactor);
    draining = draining_;
  }
  if (draining) reactor->session()->SendDraining();
  reactor->StartRead();
  return reactor;
}

void DataService::SendDraining() {
  std::vector<std::shared_ptr<StreamSession>> sessions;
  {
    MutexLock lock(&mutex_);
    draining_ = true;
    for (StreamReactor* reactor : streams_) sessions.push_back(reactor->session());
  }
  for (const auto& session : sessions) session->SendDraining();
}

void DataService::Remove(StreamReactor* reactor) {
  MutexLock lock(&mutex_);
  streams_.erase(reactor);
  changed_.NotifyAll();
}

size_t DataService::streams() const {
  MutexLock lock(&mutex_);
  return streams_.size();
}

bool DataService::WaitUntilIdle(Nanos deadline) {
  MutexLock lock(&mutex_);
  while (!streams_.empty()) {
    const Nanos left = deadline - Clock::Real()->Now();
    if (left <= 0) return false;
    changed_.WaitFor(&mutex_, std::chrono::nanoseconds(left));
  }
  return true;
}

}  // namespace penstock
