// The carrier that a client chooses for a worker, and the client's checks of a worker behind shared memory.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/packet_socket.h"
#include "base/sealed_memory.h"
#include "tests/transport/contract_test.h"
#include "tests/transport/shared_memory_testing.h"
#include "transport/peer.h"
#include "transport/shared_memory/local_address.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/ring.h"
#include "transport/shared_memory/shared_memory_transport.h"

namespace penstock::transport {
namespace {

using ::testing::HasSubstr;

class OtherWay : public WorkerSide {
 protected:
  void SetUp() override { elsewhere_.Listen("network", &elsewhere_accepted_); }

  // Opens a stream to `local`, sends a message through it, and returns its carrier.
  std::string CarrierTo(const std::string& local, SharedMemoryTransportOptions options = {}) {
    SharedMemoryTransport transport(&elsewhere_, &pool_, std::move(options));
    auto client = std::make_shared<RecordedEnd>();
    const std::shared_ptr<MessageStream> stream = transport.Connect({"network", local}, client);
    client->SetStream(stream);
    client->Write("hello");
    client->ReadAll();
    EXPECT_TRUE(AwaitRealTime([&] { return client->written() == 1; }));
    const std::string carrier(stream->carrier());
    note_ = stream->carrier_note();
    client->Close(absl::OkStatus());
    EXPECT_TRUE(AwaitRealTime([&] { return client->closed(); }));
    EXPECT_EQ(client->status().code(), absl::StatusCode::kCancelled);
    client->SetStream(nullptr);
    return carrier;
  }
  std::string Local(const std::string& where) const { return LocalAddress{BootId(), "w1", where}.ToString(); }

  // Listens at path() with a program that is no worker of ours: `then` gets each connection.
  void Pretend(std::function<void(PacketSocket)> then) {
    auto fd = ListenAt(path());
    ASSERT_TRUE(fd.ok()) << fd.status();
    pretending_ = std::thread([this, fd = std::make_shared<OwnedFd>(*std::move(fd)), then = std::move(then)] {
      while (!stop_) {
        pollfd connection{fd->get(), POLLIN, 0};
        if (poll(&connection, 1, /*timeout=*/20) <= 0) continue;
        OwnedFd client(accept4(fd->get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (client) then(*PacketSocket::Create(std::move(client)));
      }
    });
  }
  void StopPretending() {
    stop_ = true;
    if (pretending_.joinable()) pretending_.join();
    kept_.clear();
    stop_ = false;
  }
  void TearDown() override {
    StopPretending();
    WorkerSide::TearDown();
  }

  std::string note_;  // carrier_note of the last CarrierTo
  std::atomic<bool> stop_{false};
  std::thread pretending_;
  std::vector<PacketSocket> kept_;
};

TEST_F(OtherWay, AWorkerOfThisHostIsReachedThroughSharedMemory) {
  Start({});
  EXPECT_EQ(CarrierTo(listener_->local_address()), "shared memory");
  EXPECT_EQ(note_, "");
}

TEST_F(OtherWay, AWorkerWithoutAReachableSocketIsReachedOverTheNetwork) {
  EXPECT_EQ(CarrierTo(""), "in-process");
  EXPECT_EQ(CarrierTo("no address"), "in-process");
  EXPECT_EQ(note_, "");
  EXPECT_EQ(CarrierTo(Local("/no/such/folder/w1.sock")), "in-process");
  EXPECT_EQ(
      note_,
      "worker w1 is on this host, but its rows do not come through shared memory: /no/such/folder/w1.sock: No such "
      "file or directory");
  EXPECT_EQ(CarrierTo(Local("/" + std::string(200, 'x'))), "in-process");
  std::ofstream(folder_.File("file")) << "no socket";
  EXPECT_EQ(CarrierTo(Local(folder_.File("file"))), "in-process");
  { OwnedFd dead = *ListenAt(folder_.File("dead.sock")); }
  EXPECT_EQ(CarrierTo(Local(folder_.File("dead.sock"))), "in-process");
}

TEST_F(OtherWay, AnotherHostsWorkerIsReachedOverTheNetwork) {
  Start({});
  SharedMemoryTransportOptions options;
  options.boot = "another host, or one that was started again";
  EXPECT_EQ(CarrierTo(listener_->local_address(), options), "in-process");
  EXPECT_EQ(accepted_.count(), 0u);
}

TEST_F(OtherWay, AWorkerOfAnotherNameIsNotUsed) {
  Start({});
  LocalAddress other = *LocalAddress::Parse(listener_->local_address());
  other.worker = "w2";
  EXPECT_EQ(CarrierTo(other.ToString()), "in-process");
}

TEST_F(OtherWay, AUserThatTheWorkerDoesNotServeUsesTheNetwork) {
  Start([](uid_t) { return false; });
  EXPECT_EQ(CarrierTo(listener_->local_address()), "in-process");
  EXPECT_THAT(note_, HasSubstr(path() + ": the worker has closed the connection. This process runs as user"));
  EXPECT_EQ(accepted_.count(), 0u);
}

TEST_F(OtherWay, AProcessThatTheWorkerDoesNotAdmitUsesTheNetwork) {
  Start({}, [](std::string_view token, const Peer* peer) {
    EXPECT_EQ(token, "");
    EXPECT_EQ(*peer, Peer::Host(geteuid(), getpid()));
    return absl::PermissionDeniedError("not admitted");
  });
  EXPECT_EQ(CarrierTo(listener_->local_address()), "in-process");
  EXPECT_EQ(accepted_.count(), 0u);
}

TEST_F(OtherWay, ASilentWorkerIsReachedOverTheNetworkAndNotTriedAgainSoon) {
  std::atomic<int> asked{0};
  Pretend([&](PacketSocket socket) {
    ++asked;
    kept_.push_back(std::move(socket));
  });
  SharedMemoryTransportOptions options;
  options.welcome_within = 20 * kMillisecond;
  SharedMemoryTransport transport(&elsewhere_, &pool_, options);
  for (int i = 0; i < 3; ++i) {
    auto client = std::make_shared<RecordedEnd>();
    client->SetStream(transport.Connect({"network", Local(path())}, client));
    client->Write("hello");
    EXPECT_TRUE(AwaitRealTime([&] { return client->written() == 1; }));
    client->Close(absl::OkStatus());
    EXPECT_TRUE(AwaitRealTime([&] { return client->closed(); }));
    client->SetStream(nullptr);
  }
  EXPECT_TRUE(AwaitRealTime([&] { return asked > 0; }));  // on a busy machine the welcome is late
  EXPECT_EQ(asked, 1);
}

// A worker whose queue of connections is full.
class FullQueue : public OtherWay {
 protected:
  // Runs the transport's timers, and counts them.
  class CountedTimers final : public Executor {
   public:
    explicit CountedTimers(Executor* executor) : executor_(executor) {}
    void Post(Task task) override { executor_->Post(std::move(task)); }
    TimerId PostAt(Nanos when, Task task) override {
      ++count;
      return executor_->PostAt(when, std::move(task));
    }
    bool Cancel(TimerId timer) override { return executor_->Cancel(timer); }
    Clock* clock() const override { return executor_->clock(); }
    std::atomic<int> count{0};

   private:
    Executor* const executor_;
  };

  void SetUp() override {
    OtherWay::SetUp();
    auto listening = ListenAt(path());
    ASSERT_TRUE(listening.ok()) << listening.status();
    listening_ = *std::move(listening);
    absl::StatusOr<OwnedFd> caller = ConnectTo(path());
    for (; caller.ok(); caller = ConnectTo(path())) callers_.push_back(*std::move(caller));
    ASSERT_EQ(caller.status().code(), absl::StatusCode::kResourceExhausted) << caller.status();
    ASSERT_GE(callers_.size(), 128u);
  }
  void Connect(SharedMemoryTransport* transport) {
    client_ = std::make_shared<RecordedEnd>();
    client_->SetStream(stream_ = transport->Connect({"network", Local(path())}, client_));
    client_->Write("hello");
  }
  void TearDown() override {
    if (client_ != nullptr) client_->SetStream(nullptr);
    OtherWay::TearDown();
  }

  OwnedFd listening_;
  std::vector<OwnedFd> callers_;
  CountedTimers timers_{&pool_};
  std::shared_ptr<RecordedEnd> client_;
  std::shared_ptr<MessageStream> stream_;
};

TEST_F(FullQueue, IsWaitedFor) {
  SharedMemoryTransport transport(&elsewhere_, &timers_, {.welcome_within = 60 * kSecond});
  Connect(&transport);
  EXPECT_TRUE(AwaitRealTime([&] { return timers_.count > 1; }));
  EXPECT_EQ(client_->written(), 0u);
  Start({});  // the socket's path leads to a queue with room
  EXPECT_TRUE(AwaitRealTime([&] { return client_->written() == 1; }));
  EXPECT_EQ(stream_->carrier(), "shared memory");
  client_->Close(absl::OkStatus());
  EXPECT_TRUE(AwaitRealTime([&] { return client_->closed(); }));
}

TEST_F(FullQueue, ThatStaysFullLeadsToTheNetwork) {
  EXPECT_EQ(CarrierTo(Local(path()), {.welcome_within = 20 * kMillisecond}), "in-process");
  EXPECT_THAT(note_, HasSubstr(path() + ": the worker has not yet accepted 128 connections of other processes"));
}

TEST_F(FullQueue, IsLeftByAClosedStream) {
  SharedMemoryTransport transport(&elsewhere_, &timers_, {.welcome_within = 60 * kSecond});
  Connect(&transport);
  EXPECT_TRUE(AwaitRealTime([&] { return timers_.count > 1; }));
  client_->Close(absl::OkStatus());
  EXPECT_TRUE(AwaitRealTime([&] { return client_->closed(); }));
}

TEST_F(FullQueue, IsLeftWhenTheTransportEnds) {
  {
    SharedMemoryTransport transport(&elsewhere_, &timers_, {.welcome_within = 60 * kSecond});
    Connect(&transport);
    EXPECT_TRUE(AwaitRealTime([&] { return timers_.count > 1; }));
  }
  EXPECT_TRUE(client_->closed());
}

TEST_F(OtherWay, AnUntrustedRingIsNotMapped) {
  const std::string welcome = WelcomeBytes({kSharedMemoryVersion, kRing, "w1"});
  const auto memory = [](unsigned seals, uint64_t bytes) {
    OwnedFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(seals == 0 ? 0 : fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    return fd;
  };
  OwnedFd file(open(folder_.File("file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_EQ(ftruncate(file.get(), kRing), 0);
  OwnedFd device(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  OwnedFd unsealed = memory(0, kRing), growing = memory(F_SEAL_GROW, kRing), small = memory(F_SEAL_SHRINK, 4096),
          large = memory(F_SEAL_SHRINK, 2 * kRing), good = memory(F_SEAL_SHRINK, kRing);
  struct Case {
    std::string welcome;
    const OwnedFd* ring;
    const char* carrier;
  };
  const OwnedFd none;
  const std::vector<Case> cases = {
      {welcome, &none, "in-process"},
      {welcome, &file, "in-process"},
      {welcome, &device, "in-process"},
      {welcome, &unsealed, "in-process"},
      {welcome, &growing, "in-process"},
      {welcome, &small, "in-process"},
      {welcome, &large, "in-process"},
      {WelcomeBytes({kSharedMemoryVersion + 1, kRing, "w1"}), &good, "in-process"},
      {WelcomeBytes({kSharedMemoryVersion, uint64_t{1} << 60, "w1"}), &good, "in-process"},
      {ReleaseBytes({1}), &good, "in-process"},
      {"nonsense", &good, "in-process"},
      {welcome, &good, "shared memory"},
  };
  for (const Case& c : cases) {
    Pretend([&](PacketSocket socket) {
      (void)socket.Send(c.welcome, false, c.ring->get());
      kept_.push_back(std::move(socket));
    });
    EXPECT_EQ(CarrierTo(Local(path())), c.carrier);
    StopPretending();
  }
}

TEST_F(OtherWay, AnInvalidPacketOfTheWorkerEndsTheStream) {
  PartsBytes outside, beyond, many;
  ASSERT_TRUE(outside.AddPlace(kRing + 1, 1));
  ASSERT_TRUE(beyond.AddPlace(kRing - 10, 11));
  ASSERT_TRUE(many.AddPlace(UINT64_MAX, UINT64_MAX));
  std::string tiny;  // endless pieces of one byte each
  {
    PartsBytes parts;
    while (parts.AddPlace(0, 1)) {
    }
    tiny = parts.Take(false);
  }
  const std::vector<std::string> bad = {
      outside.Take(true), beyond.Take(true),          many.Take(true),   tiny, ReleaseBytes({0}),
      "nonsense",         std::string("\x04\x77", 2), FileBytes({kRing})};  // without a descriptor
  auto ring = SealedMemory::Create("test", kRing, SealedMemory::Others::kRead, "a test");
  ASSERT_TRUE(ring.ok());
  for (const std::string& packet : bad) {
    Pretend([&](PacketSocket socket) {
      (void)socket.Send(WelcomeBytes({kSharedMemoryVersion, kRing, "w1"}), false, ring->fd());
      for (int i = 0; i < 100 && socket.Send(packet, true).ok(); ++i) {
      }
      kept_.push_back(std::move(socket));
    });
    {
      SharedMemoryTransport transport(&elsewhere_, &pool_);
      auto client = std::make_shared<RecordedEnd>();
      client->SetStream(transport.Connect({"network", Local(path())}, client));
      client->ReadAll();
      EXPECT_TRUE(AwaitRealTime([&] { return client->closed(); }));
      EXPECT_EQ(client->status().code(), absl::StatusCode::kUnavailable) << client->status();
      EXPECT_TRUE(client->messages().empty());
      client->SetStream(nullptr);
    }
    StopPretending();
  }
}

// ---- Folders -------------------------------------------------------------------------------------------------------

}  // namespace
}  // namespace penstock::transport
