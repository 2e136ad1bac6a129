#include "tests/client/fakes/fake_worker.h"

#include "base/check.h"
#include "transport/grpc/grpc_acceptor.h"

namespace penstock::client {

FakeWorker::FakeWorker(std::string id, FakeJob job) : streams_(std::move(id), std::move(job)) { Restart(); }

FakeWorker::~FakeWorker() { Kill(); }

void FakeWorker::Restart() {
  service_ = transport::MakeGrpcStreamService(&streams_, &timers_);
  auto running = net::StartServer(address_, {service_.get()});
  PS_CHECK(running.ok());
  address_ = running->address;
  running_ = *std::move(running);
}

void FakeWorker::Kill() {
  if (running_.server == nullptr) return;
  running_.Shutdown();
  running_ = {};
  service_.reset();
}

}  // namespace penstock::client
