// A worker in this process, over gRPC.
#ifndef PENSTOCK_TESTS_CLIENT_FAKES_FAKE_WORKER_H_
#define PENSTOCK_TESTS_CLIENT_FAKES_FAKE_WORKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/runtime/thread_pool.h"
#include "net/channel.h"
#include "tests/client/fakes/fake_streams.h"

namespace penstock::client {

class FakeWorker {
 public:
  FakeWorker(std::string id, FakeJob job);
  ~FakeWorker();

  plan::ViewWorker view() const { return {streams_.id(), address_.ToString()}; }
  void Behave(Misbehavior how) { streams_.Behave(std::move(how)); }
  // Acts like SIGKILL: connections end, and the port is closed.
  void Kill();
  // Opens the same address again.
  void Restart();
  // Announces to all streams that the worker leaves.
  void Drain() { streams_.Drain(); }

  void WaitForStreams(int open) const { streams_.WaitForStreams(open); }
  void WaitForWaiting() const { streams_.WaitForWaiting(); }

  int open_streams() const { return streams_.open_streams(); }
  uint64_t rows_sent() const { return streams_.rows_sent(); }
  uint64_t rows_fetched() const { return streams_.rows_fetched(); }
  uint64_t grants() const { return streams_.grants(); }

 private:
  FakeStreams streams_;
  ThreadPool timers_{1, "fake-worker"};
  net::Address address_{"127.0.0.1", 0};
  std::unique_ptr<grpc::Service> service_;
  net::RunningServer running_;
};

}  // namespace penstock::client

#endif  // PENSTOCK_TESTS_CLIENT_FAKES_FAKE_WORKER_H_
