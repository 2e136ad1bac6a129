#include "transport/in_process.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/runtime/sim_scheduler.h"
#include "base/runtime/thread_pool.h"
#include "tests/transport/contract_test.h"
#include "transport/peer.h"

namespace penstock::transport {
namespace {

class OnThreads final : public Carrier {
 public:
  Transport* transport() override { return &transport_; }
  std::string Listen(StreamAcceptor* acceptor) override {
    transport_.Listen("worker", acceptor);
    return "worker";
  }
  std::string Nowhere() override { return "nobody"; }
  Peer::Kind peer_kind() override { return Peer::Kind::kInProcess; }
  bool Await(const std::function<bool()>& done) override { return AwaitRealTime(done); }

 private:
  ThreadPool pool_{3, "test"};
  InProcessTransport transport_{&pool_};
};

class OnVirtualTime final : public Carrier {
 public:
  ~OnVirtualTime() override { sim_.RunFor(kSecond); }
  Transport* transport() override { return &transport_; }
  std::string Listen(StreamAcceptor* acceptor) override {
    transport_.Listen("worker", acceptor);
    return "worker";
  }
  std::string Nowhere() override { return "nobody"; }
  Peer::Kind peer_kind() override { return Peer::Kind::kInProcess; }
  bool Await(const std::function<bool()>& done) override {
    // `done` may count its calls, so it is also called when no task is left.
    for (int i = 0; i < 1000; ++i) {
      if (sim_.RunUntil(done, sim_.clock()->Now() + kMillisecond)) return true;
    }
    return false;
  }

 private:
  SimScheduler sim_{7};
  InProcessTransport transport_{&sim_};
};

template <typename C>
std::unique_ptr<Carrier> MakeInProcess() {
  return std::make_unique<C>();
}

INSTANTIATE_TEST_SUITE_P(InProcess, CarrierContract,
                         ::testing::Values(&MakeInProcess<OnThreads>, &MakeInProcess<OnVirtualTime>));

}  // namespace
}  // namespace penstock::transport
