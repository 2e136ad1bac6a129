// Tickets before the first message: which clients get a ring, and what silent and foreign clients can occupy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/packet_socket.h"
#include "tests/transport/contract_test.h"
#include "tests/transport/shared_memory_testing.h"
#include "transport/shared_memory/local_address.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/shared_memory_transport.h"

namespace penstock::transport {
namespace {

class SharedMemoryTickets : public WorkerSide {
 protected:
  void SetUp() override { elsewhere_.Listen("network", &elsewhere_accepted_); }

  // Listens for clients that show the ticket "good".
  void Listen(SocketUsers users = {}) {
    SharedMemoryListenerOptions options{.dir = folder_.path(), .worker = "w1", .ring_bytes = kRing};
    options.users = users;
    options.needs_ticket = [](const Peer&) { return true; };
    options.user_waiting = 4;
    options.ticket_within = 100 * kSecond;
    options.on_rejected = [this](const Peer& peer, const absl::Status& status) {
      EXPECT_EQ(peer.uid, geteuid());
      MutexLock lock(&mutex_);
      rejected_.push_back(status);
    };
    options.admit = [this](std::string_view ticket, Peer* peer) {
      ++asked_;
      peer->name = "alice";
      return ticket == "good" ? absl::OkStatus() : absl::UnauthenticatedError("another ticket");
    };
    auto listener = SharedMemoryListener::Start(options, &accepted_, &pool_);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }

  // Returns the carrier of a stream that shows the ticket.
  std::string CarrierWith(const std::string& ticket, Nanos welcome_within = 100 * kSecond) {
    SharedMemoryTransportOptions options;
    options.welcome_within = welcome_within;
    SharedMemoryTransport transport(&elsewhere_, &pool_, options);
    WorkerAddress worker{"network", listener_->local_address()};
    worker.ticket = [ticket] { return ticket; };
    auto client = std::make_shared<RecordedEnd>();
    const std::shared_ptr<MessageStream> stream = transport.Connect(worker, client);
    client->SetStream(stream);
    client->Write("hello");
    EXPECT_TRUE(AwaitRealTime([&] { return client->written() == 1; }));
    const std::string carrier(stream->carrier());
    client->Close(absl::OkStatus());
    EXPECT_TRUE(AwaitRealTime([&] { return client->closed(); }));
    client->SetStream(nullptr);
    return carrier;
  }

  // Connects without a word.
  PacketSocket Silent() {
    auto fd = ConnectTo(path());
    EXPECT_TRUE(fd.ok()) << fd.status();
    return *PacketSocket::Create(*std::move(fd));
  }
  static bool IsClosed(const PacketSocket& socket) {
    const auto packet = socket.Receive();
    return absl::IsOutOfRange(packet.status());
  }

  // Returns how many peers the listener has rejected with this code.
  size_t Rejected(absl::StatusCode code) {
    MutexLock lock(&mutex_);
    return static_cast<size_t>(std::count_if(rejected_.begin(), rejected_.end(),
                                             [code](const absl::Status& status) { return status.code() == code; }));
  }

  std::atomic<int> asked_{0};
  Mutex mutex_;
  std::vector<absl::Status> rejected_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(SharedMemoryTickets, TheTicketDecidesBeforeThereIsARing) {
  Listen();
  EXPECT_EQ(CarrierWith("good"), "shared memory");
  EXPECT_EQ(asked_, 1);
  const uint64_t rings = listener_->rings_bytes();
  EXPECT_EQ(rings, uint64_t{kRing});
  EXPECT_EQ(CarrierWith("bad"), "in-process");
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(listener_->rings_bytes(), rings);
}

TEST_F(SharedMemoryTickets, AClientWithoutATicketUsesTheNetworkAfterItsTimeLimit) {
  Listen();
  EXPECT_EQ(CarrierWith("", 20 * kMillisecond), "in-process");
  EXPECT_EQ(asked_, 0);
}

TEST_F(SharedMemoryTickets, AWorkerThatNeedsNoneIgnoresTheTicket) {
  Start({});
  EXPECT_EQ(CarrierWith("good"), "shared memory");
}

TEST_F(SharedMemoryTickets, AnotherFirstPacketClosesTheConnection) {
  Listen();
  for (const std::string& packet :
       {Parts("hello", true), std::string("x"), std::string(1, '\6') + std::string(5000, 't')}) {
    const PacketSocket socket = Silent();
    ASSERT_TRUE(socket.Send(packet, false).ok());
    EXPECT_TRUE(AwaitRealTime([&] { return IsClosed(socket); }));
  }
  EXPECT_EQ(asked_, 0);
  EXPECT_TRUE(AwaitRealTime([&] { return Rejected(absl::StatusCode::kInvalidArgument) == 3; }));
}

TEST_F(SharedMemoryTickets, ManySilentClientsOccupyFewConnectionsAndBlockNobody) {
  Listen();
  std::vector<PacketSocket> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(Silent());
  EXPECT_TRUE(AwaitRealTime([&] {
    int closed = 0;
    for (const PacketSocket& socket : silent) closed += IsClosed(socket) ? 1 : 0;
    return closed == 46;
  }));
  EXPECT_EQ(Rejected(absl::StatusCode::kResourceExhausted), 46u);
  EXPECT_EQ(listener_->rings_bytes(), 0u);
  EXPECT_EQ(CarrierWith("good"), "shared memory");
}

TEST_F(SharedMemoryTickets, AListenerStopsWithSilentClients) {
  Listen();
  const PacketSocket early = Silent(), late = Silent();
  listener_->StopListening();
  EXPECT_TRUE(AwaitRealTime([&] { return IsClosed(early) && IsClosed(late); }));
  Listen();
  const PacketSocket last = Silent();
  listener_->Stop();
  EXPECT_TRUE(AwaitRealTime([&] { return IsClosed(last); }));
}

TEST_F(SharedMemoryTickets, ASilentClientIsClosedAfterTheTimeLimit) {
  SharedMemoryListenerOptions options{.dir = folder_.path(), .worker = "w1", .ring_bytes = kRing};
  options.needs_ticket = [](const Peer&) { return true; };
  options.ticket_within = 20 * kMillisecond;
  auto listener = SharedMemoryListener::Start(options, &accepted_, &pool_);
  ASSERT_TRUE(listener.ok()) << listener.status();
  listener_ = *std::move(listener);
  const PacketSocket socket = Silent();
  EXPECT_TRUE(AwaitRealTime([&] { return IsClosed(socket); }));
}

TEST_F(SharedMemoryTickets, TheModesOfFolderAndSocketAdmitTheUsers) {
  const auto mode_of = [](const std::string& of) {
    struct stat info {};
    EXPECT_EQ(stat(of.c_str(), &info), 0) << of;
    return info.st_mode & 0777;
  };
  struct Case {
    SocketUsers users;
    unsigned folder, socket;
  };
  for (const Case& c : {Case{{}, 0700, 0600}, Case{{SocketUsers::kGroup, getegid()}, 0710, 0660},
                        Case{{SocketUsers::kAny}, 0711, 0666}, Case{{}, 0700, 0600}}) {
    ASSERT_EQ(chmod(folder_.path().c_str(), 0700), 0);
    ASSERT_TRUE(PrepareSocketDir(folder_.path(), c.users).ok());
    listener_.reset();
    Listen(c.users);
    EXPECT_EQ(mode_of(folder_.path()), c.folder);
    EXPECT_EQ(mode_of(path()), c.socket);
  }
}

}  // namespace
}  // namespace penstock::transport
