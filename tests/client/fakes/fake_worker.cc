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
  server_ = std::move(running->server);
}

void FakeWorker::Kill() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  service_.reset();
}

}  // namespace penstock::client
