#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "base/runtime/thread_pool.h"
#include "tests/support/temp_folder.h"
#include "tests/transport/contract_test.h"
#include "transport/in_process.h"
#include "transport/peer.h"
#include "transport/shared_memory/listener.h"
#include "transport/shared_memory/local_address.h"
#include "transport/shared_memory/shared_memory_transport.h"

namespace penstock::transport {
namespace {

// Both ends in one process. The only fallback is a network without listeners.
template <uint64_t kRingBytes>
class SharedMemory final : public Carrier {
 public:
  ~SharedMemory() override {
    if (listener_ != nullptr) listener_->Stop();
  }
  Transport* transport() override { return &transport_; }
  std::string Listen(StreamAcceptor* acceptor) override {
    auto listener = SharedMemoryListener::Start({.dir = folder_.path(),
                                                 .worker = "w1",
                                                 .ring_bytes = kRingBytes,
                                                 .rings_bytes = 2 * kRingBytes,
                                                 .serves = nullptr},
                                                acceptor, &pool_);
    EXPECT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    local_.local = listener_->local_address();
    return "here";
  }
  std::string Nowhere() override { return "nowhere"; }
  Peer::Kind peer_kind() override { return Peer::Kind::kHost; }
  bool Await(const std::function<bool()>& done) override { return AwaitRealTime(done); }

 private:
  // The contract's tests use addresses of one word.
  class Here final : public Transport {
   public:
    explicit Here(SharedMemory* carrier) : carrier_(carrier) {}
    std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) override {
      return carrier_->shared_.Connect({worker.network, worker.network == "here" ? carrier_->local_.local : ""},
                                       std::move(events));
    }

   private:
    SharedMemory* const carrier_;
  };

  support::TempFolder folder_;
  ThreadPool pool_{3, "test"};
  InProcessTransport elsewhere_{&pool_};
  SharedMemoryTransport shared_{&elsewhere_, &pool_};
  Here transport_{this};
  WorkerAddress local_;
  std::unique_ptr<SharedMemoryListener> listener_;
};

template <typename C>
std::unique_ptr<Carrier> MakeSharedMemory() {
  return std::make_unique<C>();
}

// Rings with room for all messages, with room for some, and a worker without memory for rings.
INSTANTIATE_TEST_SUITE_P(SharedMemory, CarrierContract,
                         ::testing::Values(&MakeSharedMemory<SharedMemory<(32 << 20)>>,
                                           &MakeSharedMemory<SharedMemory<(1 << 20)>>,
                                           &MakeSharedMemory<SharedMemory<4096>>));

}  // namespace
}  // namespace penstock::transport
