// Peers that do what they must not, or nothing at all: neither side of the carrier may be harmed, or wait for ever.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/packet_socket.h"
#include "base/runtime/thread_pool.h"
#include "base/sealed_memory.h"
#include "tests/support/temp_folder.h"
#include "tests/transport/contract_test.h"
#include "transport/in_process.h"
#include "transport/shared_memory/listener.h"
#include "transport/shared_memory/local_address.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/ring.h"
#include "transport/shared_memory/shared_memory_transport.h"

namespace penstock {
namespace {

constexpr uint64_t kRing = 4 << 20;

// Keeps the ends that are accepted.
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
  // Closes all and waits for it.
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

int OpenDescriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

int RingsMapped() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("penstock-rows") != std::string::npos ? 1 : 0;
  return count;
}

// ---- A worker and its clients --------------------------------------------------------------------------------------

class WorkerSide : public testing::Test {
 protected:
  void SetUp() override { Start({}); }
  void Start(std::function<bool(uid_t)> serves) {
    listener_.reset();
    auto listener = SharedMemoryListener::Start(
        {.dir = folder_.path(), .worker = "w1", .ring_bytes = kRing, .serves = std::move(serves)}, &accepted_, &pool_);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }
  void TearDown() override {
    accepted_.End();
    elsewhere_accepted_.End();
    if (listener_ != nullptr) listener_->Stop();
  }

  std::string path() const { return folder_.File("w1.sock"); }

  // A client that is none: its socket, and the ring that it was given.
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
    // The worker's last word.
    absl::Status Closed() const {
      while (true) {
        const std::string bytes = Receive();
        if (bytes.empty()) return absl::UnknownError("closed without a word");
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

  TempFolder folder_;
  ThreadPool pool_{3, "test"};
  Accepted accepted_, elsewhere_accepted_;
  InProcessTransport elsewhere_{&pool_};
  std::unique_ptr<SharedMemoryListener> listener_;
};

TEST_F(WorkerSide, AClientCanNeitherWriteTheRingNorCutItShort) {
  const RawClient client = Connect();
  const int fd = client.ring.get();
  EXPECT_EQ(mmap(nullptr, kRing, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_LT(pwrite(fd, "x", 1, 0), 0);
  EXPECT_NE(ftruncate(fd, 4096), 0);
  EXPECT_NE(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_NE(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
  void* const mapped = mmap(nullptr, kRing, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_NE(mprotect(mapped, 4096, PROT_READ | PROT_WRITE), 0);
  munmap(mapped, kRing);
}

TEST_F(WorkerSide, AReleaseThatIsNotDueEndsTheStreamWithWords) {
  const RawClient client = Connect();
  const auto served = LastWorkerEnd(1);
  served->Write(std::string(100'000, 'a'));
  ASSERT_FALSE(client.Receive().empty());
  ASSERT_TRUE(client.socket->Send(ReleaseBytes({0}), true).ok());
  ASSERT_TRUE(client.socket->Send(ReleaseBytes({0}), true).ok());
  const absl::Status status = client.Closed();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(status.message().find("release of message 0"), std::string::npos) << status;
}

TEST_F(WorkerSide, WhatAClientSendsIsReadOnlyAsFarAsItIsSound) {
  PartsBytes place;
  ASSERT_TRUE(place.AddPlace(0, 100));
  const std::vector<std::string> bad = {
      place.Take(true),           WelcomeBytes({1, 4096, "w1"}), CloseBytes(absl::OkStatus()),
      std::string("\x02"),        std::string("\x02\x02", 2),    std::string("\x02\x01\x01\xff\xff\xff\xff", 7),
      std::string("\x03\x01", 2), std::string("\xee", 1),        FileBytes({4096}),
  };
  size_t connected = 0;
  for (const std::string& packet : bad) {
    const RawClient client = Connect();
    const auto served = LastWorkerEnd(++connected);
    served->ReadAll();
    ASSERT_TRUE(client.socket->Send(packet, true).ok());
    EXPECT_EQ(client.Closed().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(served->messages().empty());
  }
}

TEST_F(WorkerSide, AnyPacketsHarmNobodyElse) {
  std::mt19937_64 random(17);
  SharedMemoryTransport transport(&elsewhere_, &pool_);
  auto good = std::make_shared<RecordedEnd>();
  good->SetStream(transport.Connect({"here", listener_->local_address()}, good));
  good->Write("hello");
  size_t connected = 1;
  const auto good_served = LastWorkerEnd(connected);
  good_served->ReadAll();
  good->ReadAll();
  for (int round = 0; round < 60; ++round) {
    const RawClient client = Connect();
    const auto served = LastWorkerEnd(++connected);
    if (round % 2 == 0) served->ReadAll();
    for (int i = 0; i < 20; ++i) {
      std::string packet(random() % 200 + 1, '\0');
      for (char& c : packet) c = static_cast<char>(random() % 7);
      if (!client.socket->Send(packet, false).ok()) break;
    }
  }
  for (int i = 0; i < 20; ++i) {
    good->Write(std::string(1000, static_cast<char>('a' + i)));
    good_served->Write(std::string(200'000, static_cast<char>('a' + i)));
  }
  EXPECT_TRUE(AwaitRealTime([&] { return good->count() == 20 && good_served->count() == 21; }));
  EXPECT_EQ(good->messages()[19], std::string(200'000, 'a' + 19));
  good->Close(absl::OkStatus());
  EXPECT_TRUE(AwaitRealTime([&] { return good->closed(); }));
  good->SetStream(nullptr);
}

TEST_F(WorkerSide, AClientThatFloodsIsNotReadOn) {
  const RawClient client = Connect();
  const auto served = LastWorkerEnd(1);  // which reads nothing
  const std::string packet = Parts(std::string(40'000, 'x'), true);
  size_t taken = 0;
  for (int quiet = 0; quiet < 50 && taken < 1000;) {
    if (client.socket->Send(packet, false).ok()) {
      ++taken;
      quiet = 0;
    } else {
      AwaitRealTime([rounds = 0]() mutable { return ++rounds > 2; });
      ++quiet;
    }
  }
  EXPECT_LT(taken, 100u);  // 1 MiB here, and what a socket holds
}

TEST_F(WorkerSide, AMessageThatNeverEndsIsCutOff) {
  const RawClient client = Connect();
  const auto served = LastWorkerEnd(1);
  served->ReadAll();
  const std::string packet = Parts(std::string(40'000, 'x'), false);
  size_t sent = 0;
  absl::Status status;
  EXPECT_TRUE(AwaitRealTime([&] {
    while (client.socket->Send(packet, false).ok()) ++sent;
    const auto got = client.socket->Receive();
    if (!got.ok() || !got->has_value()) return !got.ok();
    status = std::get<ClosePacket>(*ParsePacket((*got)->bytes)).status;
    return true;
  }));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_LT(sent, 2000u);  // 64 MiB
}

TEST_F(WorkerSide, DescriptorsThatAClientSendsAreClosed) {
  const RawClient client = Connect();
  LastWorkerEnd(1)->ReadAll();
  const int before = OpenDescriptors();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(client.socket->Send(Parts("x", true), true, STDERR_FILENO).ok());
  }
  EXPECT_TRUE(AwaitRealTime([&] { return accepted_.Last()->count() == 50; }));
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(WorkerSide, AHundredSessionsLeaveNothing) {
  SharedMemoryTransport transport(&elsewhere_, &pool_);
  const auto one = [&](int i) {
    auto client = std::make_shared<RecordedEnd>();
    client->SetStream(transport.Connect({"here", listener_->local_address()}, client));
    client->Write("hello");
    EXPECT_TRUE(AwaitRealTime([&] { return accepted_.count() == 1; }));
    const auto served = accepted_.Last();
    client->Read();
    served->Write(std::string(300'000, 'r'));
    EXPECT_TRUE(AwaitRealTime([&] { return client->count() == 1; }));
    if (i % 2 == 0) {
      client->Close(absl::OkStatus());
    } else {
      served->Close(absl::OkStatus());
      client->ReadAll();
    }
    EXPECT_TRUE(AwaitRealTime([&] { return client->closed() && served->closed(); }));
    client->SetStream(nullptr);
    accepted_.End();
  };
  one(0);  // what is made once
  const int before = OpenDescriptors();
  for (int i = 0; i < 100; ++i) one(i);
  EXPECT_TRUE(AwaitRealTime([&] { return OpenDescriptors() <= before && RingsMapped() == 0; }))
      << OpenDescriptors() << " descriptors, " << before << " before; " << RingsMapped() << " rings";
  EXPECT_TRUE(AwaitRealTime([&] { return listener_->rings_bytes() == 0; }));
  listener_->Stop();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

// A trainer that ends as kill -9 ends it: the kernel closes its socket.
TEST_F(WorkerSide, AClientThatDiesWithRowsInItsHandsGivesAllBack) {
  {
    const RawClient client = Connect();
    const auto served = LastWorkerEnd(1);
    for (int i = 0; i < 20; ++i) served->Write(std::string(500'000, 'd'));
    ASSERT_FALSE(client.Receive().empty());
    EXPECT_GT(listener_->rings_bytes(), 0u);
  }
  EXPECT_TRUE(AwaitRealTime([&] { return accepted_.Last()->closed(); }));
  accepted_.End();
  EXPECT_TRUE(AwaitRealTime([&] { return listener_->rings_bytes() == 0; }));
}

// ---- Ways back to the network --------------------------------------------------------------------------------------

class OtherWay : public WorkerSide {
 protected:
  void SetUp() override { elsewhere_.Listen("network", &elsewhere_accepted_); }

  // Which carrier a stream to `local` gets; a message goes through it.
  std::string CarrierTo(const std::string& local, SharedMemoryTransportOptions options = {}) {
    SharedMemoryTransport transport(&elsewhere_, &pool_, std::move(options));
    auto client = std::make_shared<RecordedEnd>();
    const std::shared_ptr<MessageStream> stream = transport.Connect({"network", local}, client);
    client->SetStream(stream);
    client->Write("hello");
    client->ReadAll();
    EXPECT_TRUE(AwaitRealTime([&] { return client->written() == 1; }));
    const std::string carrier(stream->carrier());
    client->Close(absl::OkStatus());
    EXPECT_TRUE(AwaitRealTime([&] { return client->closed(); }));
    EXPECT_EQ(client->status().code(), absl::StatusCode::kCancelled);
    client->SetStream(nullptr);
    return carrier;
  }
  std::string Local(const std::string& where) const { return LocalAddress{BootId(), "w1", where}.ToString(); }

  // What is no worker of ours listens at path(): `then` has each connection.
  void Pretend(std::function<void(PacketSocket)> then) {
    auto fd = ListenAt(path());
    ASSERT_TRUE(fd.ok()) << fd.status();
    pretending_ = std::thread([this, fd = std::make_shared<OwnedFd>(*std::move(fd)), then = std::move(then)] {
      while (!stop_) {
        OwnedFd client(accept4(fd->get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (client) {
          then(*PacketSocket::Create(std::move(client)));
        } else {
          Clock::Real()->Pause(kMillisecond);
        }
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

  std::atomic<bool> stop_{false};
  std::thread pretending_;
  std::vector<PacketSocket> kept_;
};

TEST_F(OtherWay, AWorkerOfThisHostIsReachedThroughSharedMemory) {
  Start({});
  EXPECT_EQ(CarrierTo(listener_->local_address()), "shared memory");
}

TEST_F(OtherWay, AWorkerThatCannotBeReachedHereIsReachedOverTheNetwork) {
  EXPECT_EQ(CarrierTo(""), "in-process");
  EXPECT_EQ(CarrierTo("no address"), "in-process");
  EXPECT_EQ(CarrierTo(Local("/no/such/folder/w1.sock")), "in-process");
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

TEST_F(OtherWay, AWorkerOfAnotherNameIsNotTakenForTheOneThatWasMeant) {
  Start({});
  LocalAddress other = *LocalAddress::Parse(listener_->local_address());
  other.worker = "w2";
  EXPECT_EQ(CarrierTo(other.ToString()), "in-process");
}

TEST_F(OtherWay, AUserThatAWorkerDoesNotServeGoesOverTheNetwork) {
  Start([](uid_t) { return false; });
  EXPECT_EQ(CarrierTo(listener_->local_address()), "in-process");
  EXPECT_EQ(accepted_.count(), 0u);
}

TEST_F(OtherWay, AWorkerThatSaysNothingIsLeftForTheNetworkAndNotAskedAgainSoon) {
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
  EXPECT_EQ(asked, 1);
}

TEST_F(OtherWay, ARingThatIsNotToBeTrustedIsNotMapped) {
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

TEST_F(OtherWay, WhatAWorkerSendsIsReadOnlyAsFarAsItIsSound) {
  PartsBytes outside, beyond, many;
  ASSERT_TRUE(outside.AddPlace(kRing + 1, 1));
  ASSERT_TRUE(beyond.AddPlace(kRing - 10, 11));
  ASSERT_TRUE(many.AddPlace(UINT64_MAX, UINT64_MAX));
  std::string tiny;  // pieces of one byte each, without end
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

TEST(SocketDir, OnlyAFolderThatNobodyElseCanWriteIsUsed) {
  const TempFolder folder;
  EXPECT_TRUE(PrepareSocketDir(folder.File("new")).ok());
  struct stat info {};
  ASSERT_EQ(stat(folder.File("new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_TRUE(PrepareSocketDir(folder.File("new")).ok());
  ASSERT_EQ(chmod(folder.File("new").c_str(), 0777), 0);
  EXPECT_NE(PrepareSocketDir(folder.File("new")).message().find("can be written by other users"), std::string::npos);
  ASSERT_EQ(chmod(folder.File("new").c_str(), 0700), 0);
  std::filesystem::create_symlink(folder.File("new"), folder.File("link"));
  EXPECT_NE(PrepareSocketDir(folder.File("link")).message().find("is no folder"), std::string::npos);
  EXPECT_FALSE(PrepareSocketDir("relative").ok());
  EXPECT_FALSE(PrepareSocketDir(folder.File("no/such")).ok());
}

TEST(SocketDir, SocketsOfDeadWorkersAreRemovedAndThoseOfOthersStay) {
  const TempFolder folder;
  const OwnedFd alive = *ListenAt(folder.File("alive.sock"));
  { const OwnedFd dead = *ListenAt(folder.File("dead.sock")); }
  std::ofstream(folder.File("file")) << "not ours";
  RemoveDeadSockets(folder.path());
  EXPECT_TRUE(std::filesystem::exists(folder.File("alive.sock")));
  EXPECT_FALSE(std::filesystem::exists(folder.File("dead.sock")));
  EXPECT_TRUE(std::filesystem::exists(folder.File("file")));
}

TEST(LocalAddress, IsReadBackAsItWasWritten) {
  const LocalAddress address{"boot", "worker", "/run/a:b/w.sock"};
  const auto again = LocalAddress::Parse(address.ToString());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->boot, "boot");
  EXPECT_EQ(again->worker, "worker");
  EXPECT_EQ(again->path, "/run/a:b/w.sock");
  for (const char* text : {"", "a", "a:b", "a:b:", "a:b:relative", ":b:/c", "a::/c"}) {
    EXPECT_FALSE(LocalAddress::Parse(text).has_value()) << text;
  }
}

// ---- Memory --------------------------------------------------------------------------------------------------------

TEST(Ring, RowsLeaveRoomForCopiesAndBlocksAreUsedAgain) {
  const auto ring = *Ring::Create(1 << 20, nullptr);
  std::vector<std::byte*> rows;
  while (std::byte* const row = ring->Allocate(100'000)) rows.push_back(row);
  EXPECT_GE(rows.size(), 6u);
  EXPECT_LE(ring->used_bytes(), ring->bytes() * 3 / 4);
  EXPECT_NE(ring->AllocateCopy(100'000), nullptr);
  EXPECT_EQ(ring->AllocateCopy(1 << 20), nullptr);
  ring->Deallocate(rows[2], 100'000);
  EXPECT_EQ(ring->Allocate(100'000), rows[2]);
  ring->End();
  ring->Deallocate(rows[2], 100'000);
  EXPECT_EQ(ring->Allocate(100'000), nullptr) << "a ring that was lost is never used again";
}

}  // namespace
}  // namespace penstock
