// Peers that violate the protocol or do nothing: neither side of the carrier may be harmed, or wait forever.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/packet_socket.h"
#include "tests/support/temp_folder.h"
#include "tests/transport/contract_test.h"
#include "tests/transport/shared_memory_testing.h"
#include "transport/shared_memory/local_address.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/ring.h"
#include "transport/shared_memory/shared_memory_transport.h"

namespace penstock::transport {
namespace {

TEST_F(WorkerSide, AClientCanNeitherWriteNorShortenTheRing) {
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

TEST_F(WorkerSide, AnUnexpectedReleaseEndsTheStreamWithAnError) {
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

TEST_F(WorkerSide, AnInvalidPacketEndsTheStream) {
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

TEST_F(WorkerSide, RandomPacketsHarmNoOtherStream) {
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

TEST_F(WorkerSide, AFloodingClientIsNotReadFurther) {
  const RawClient client = Connect();
  const auto served = LastWorkerEnd(1);  // this end reads nothing
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
  EXPECT_LT(taken, 100u);  // 1 MiB here, and the socket's buffer
}

TEST_F(WorkerSide, AnEndlessMessageEndsTheStream) {
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
  EXPECT_TRUE(AwaitRealTime([&] { return OpenDescriptors() == before; }));
}

TEST_F(WorkerSide, AHundredSessionsLeaveNoResources) {
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
  one(0);  // creates objects that exist once per process
  const int before = OpenDescriptors();
  for (int i = 0; i < 100; ++i) one(i);
  EXPECT_TRUE(AwaitRealTime([&] { return OpenDescriptors() <= before && RingsMapped() == 0; }))
      << OpenDescriptors() << " descriptors, " << before << " before; " << RingsMapped() << " rings";
  EXPECT_TRUE(AwaitRealTime([&] { return listener_->rings_bytes() == 0; }));
  listener_->Stop();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

// The client's end resembles kill -9: the kernel closes its socket.
TEST_F(WorkerSide, ADeadClientReleasesAllItsRows) {
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

TEST(SocketDir, AcceptsOnlyAFolderThatNoOtherUserCanWrite) {
  const support::TempFolder folder;
  EXPECT_TRUE(PrepareSocketDir(folder.File("new")).ok());
  struct stat info {};
  ASSERT_EQ(stat(folder.File("new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_TRUE(PrepareSocketDir(folder.File("new")).ok());
  ASSERT_EQ(chmod(folder.File("new").c_str(), 0777), 0);
  EXPECT_NE(PrepareSocketDir(folder.File("new")).message().find("can be written by other users"), std::string::npos);
  ASSERT_EQ(chmod(folder.File("new").c_str(), 0700), 0);
  std::filesystem::create_symlink(folder.File("new"), folder.File("link"));
  EXPECT_NE(PrepareSocketDir(folder.File("link")).message().find("is not a folder"), std::string::npos);
  EXPECT_FALSE(PrepareSocketDir("relative").ok());
  EXPECT_FALSE(PrepareSocketDir(folder.File("no/such")).ok());
}

TEST(SocketDir, RemovesOnlySocketsOfDeadWorkers) {
  const support::TempFolder folder;
  const OwnedFd alive = *ListenAt(folder.File("alive.sock"));
  { const OwnedFd dead = *ListenAt(folder.File("dead.sock")); }
  std::ofstream(folder.File("file")) << "not ours";
  std::ofstream(folder.File("notes.sock")) << "not a socket";
  RemoveDeadSockets(folder.path());
  EXPECT_TRUE(std::filesystem::exists(folder.File("alive.sock")));
  EXPECT_FALSE(std::filesystem::exists(folder.File("dead.sock")));
  EXPECT_TRUE(std::filesystem::exists(folder.File("file")));
  EXPECT_TRUE(std::filesystem::exists(folder.File("notes.sock")));
}

TEST(LocalAddress, IsParsedFromItsOwnText) {
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

TEST(Ring, RowsLeaveRoomForCopiesAndFreedBlocksAreReused) {
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
  EXPECT_EQ(ring->Allocate(100'000), nullptr) << "an ended ring allocates no block";
}

}  // namespace
}  // namespace penstock::transport
