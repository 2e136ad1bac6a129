// A worker behind a socket, and a client that sends arbitrary packets.
#ifndef PENSTOCK_TESTS_TRANSPORT_SHARED_MEMORY_TESTING_H_
#define PENSTOCK_TESTS_TRANSPORT_SHARED_MEMORY_TESTING_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/packet_socket.h"
#include "base/runtime/thread_pool.h"
#include "tests/support/temp_folder.h"
#include "tests/transport/contract_test.h"
#include "transport/in_process.h"
#include "transport/peer.h"
#include "transport/shared_memory/listener.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/ring.h"
#include "transport/shared_memory/shared_memory_transport.h"

namespace penstock::transport {

inline constexpr uint64_t kRing = 4 << 20;

// Keeps the accepted ends.
class Accepted final : public StreamAcceptor {
 public:
  std::shared_ptr<StreamEvents> Accept(std::shared_ptr<MessageStream> stream) override {
    auto end = std::make_shared<RecordedEnd>();
    end->SetStream(std::move(stream));
    MutexLock lock(&mutex_);
    ends_.push_back(end);
    return end;
  }
  size_t count() {
    MutexLock lock(&mutex_);
    return ends_.size();
  }
  std::shared_ptr<RecordedEnd> Last() {
    MutexLock lock(&mutex_);
    return ends_.back();
  }
  // Closes all ends, and waits until they are closed.
  void End() {
    std::vector<std::shared_ptr<RecordedEnd>> ends;
    {
      MutexLock lock(&mutex_);
      ends.swap(ends_);
    }
    for (const auto& end : ends) end->Close(absl::CancelledError("the test is over"));
    for (const auto& end : ends) {
      EXPECT_TRUE(AwaitRealTime([&] { return end->closed(); }));
      end->SetStream(nullptr);
    }
  }

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<RecordedEnd>> ends_ ABSL_GUARDED_BY(mutex_);
};

inline int OpenDescriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

inline int RingsMapped() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("penstock-rows") != std::string::npos ? 1 : 0;
  return count;
}

// ---- A worker and its clients --------------------------------------------------------------------------------------

class WorkerSide : public testing::Test {
 protected:
  void SetUp() override { Start({}); }
  void Start(std::function<bool(uid_t)> serves, AdmitPeer admit = nullptr) {
    listener_.reset();
    auto listener = SharedMemoryListener::Start({.dir = folder_.path(),
                                                 .worker = "w1",
                                                 .ring_bytes = kRing,
                                                 .serves = std::move(serves),
                                                 .admit = std::move(admit)},
                                                &accepted_, &pool_);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }
  void TearDown() override {
    accepted_.End();
    elsewhere_accepted_.End();
    if (listener_ != nullptr) listener_->Stop();
  }

  std::string path() const { return folder_.File("w1.sock"); }

  // A client without the carrier: its socket, and the ring that the worker sent.
  struct RawClient {
    std::optional<PacketSocket> socket;
    OwnedFd ring;
    std::string Receive() const {
      std::string got;
      EXPECT_TRUE(AwaitRealTime([&] {
        auto packet = socket->Receive();
        if (!packet.ok()) return true;
        if (!packet->has_value()) return false;
        got = (*packet)->bytes;
        return true;
      }));
      return got;
    }
    // Returns the status of the worker's close packet.
    absl::Status Closed() const {
      while (true) {
        const std::string bytes = Receive();
        if (bytes.empty()) return absl::UnknownError("closed without a close packet");
        const auto packet = ParsePacket(bytes);
        EXPECT_TRUE(packet.ok());
        if (const auto* close = std::get_if<ClosePacket>(&*packet)) return close->status;
      }
    }
  };
  RawClient Connect() {
    RawClient client;
    auto fd = ConnectTo(path());
    EXPECT_TRUE(fd.ok()) << fd.status();
    client.socket = *PacketSocket::Create(*std::move(fd));
    EXPECT_TRUE(AwaitRealTime([&] {
      auto packet = client.socket->Receive();
      EXPECT_TRUE(packet.ok()) << packet.status();
      if (!packet.ok() || !packet->has_value()) return !packet.ok();
      client.ring = std::move((*packet)->fd);
      return true;
    }));
    EXPECT_TRUE(client.ring);
    return client;
  }
  std::shared_ptr<RecordedEnd> LastWorkerEnd(size_t count) {
    EXPECT_TRUE(AwaitRealTime([&] { return accepted_.count() >= count; }));
    return accepted_.Last();
  }
  static std::string Parts(const std::string& bytes, bool last) {
    PartsBytes parts;
    EXPECT_EQ(parts.Add(bytes), bytes.size());
    return parts.Take(last);
  }

  support::TempFolder folder_;
  ThreadPool pool_{3, "test"};
  Accepted accepted_, elsewhere_accepted_;
  InProcessTransport elsewhere_{&pool_};
  std::unique_ptr<SharedMemoryListener> listener_;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TESTS_TRANSPORT_SHARED_MEMORY_TESTING_H_
