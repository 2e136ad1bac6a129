// Processes of another user on a worker's host, which attack the socket for shared memory.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/packet_socket.h"
#include "tests/hostile/besieged_cluster.h"
#include "tests/support/cluster/deaf_client.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"
#include "transport/shared_memory/local_address.h"
#include "transport/shared_memory/packet.h"

namespace penstock::hostile {
namespace {

constexpr uid_t kNobody = 65534;
constexpr size_t kConnections = 200;

// A connection whose packets the test chooses, and which reads only its WELCOME.
class SocketPeer {
 public:
  explicit SocketPeer(const std::string& path) {
    absl::StatusOr<OwnedFd> fd = transport::ConnectTo(path);  // fails while the worker's queue is full
    if (!fd.ok()) return;
    auto socket = PacketSocket::Create(*std::move(fd));
    if (socket.ok()) socket_ = *std::move(socket);
  }

  // Returns false if the worker has closed the connection, or reads nothing for a while.
  bool Send(const std::string& packet) {
    if (!socket_) return false;
    absl::Status sent;
    support::WaitUntil(
        [&] {
          sent = socket_->Send(packet, false);
          return !absl::IsResourceExhausted(sent);
        },
        std::chrono::seconds(2));
    return sent.ok();
  }
  bool SendMessage(const v1::ClientMessage& message) {
    const std::string bytes = message.SerializeAsString();
    transport::PartsBytes parts;
    PS_CHECK(parts.Add(bytes) == bytes.size());
    return Send(parts.Take(/*last=*/true));
  }
  // Waits for the worker's WELCOME. Returns false if the worker closes the connection instead.
  bool IsWelcome() {
    if (!socket_) return false;
    bool welcome = false;
    support::WaitUntil([&] {
      const auto packet = socket_->Receive();
      welcome = packet.ok() && packet->has_value();
      return welcome || !packet.ok();
    });
    return welcome;
  }

 private:
  std::optional<PacketSocket> socket_;
};

class ForeignUser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can attack as another user";
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    cluster_.emplace(BesiegedCluster::Security::kRoles, "unread_seconds: 2 socket_streams_per_user: 20",
                     std::vector<std::string>{"--socket-users", "any", "--socket-dir", folder_.File("sockets")});
    path_ = absl::StrCat(folder_.File("sockets"), "/", cluster_->processes().worker(0).id, ".sock");
  }

  static BesiegedCluster::Naming By(const std::string& reason, const std::string& name = "",
                                    const std::string& text = "") {
    return {.by = "worker", .reason = reason, .host = absl::StrCat("user ", kNobody), .name = name, .text = text};
  }
  // Runs `attack` in threads of the other user. The system's calls change the calling thread only.
  void Besiege(const std::string& name, const std::vector<std::function<void(const std::atomic<bool>& over)>>& attacks,
               const std::vector<BesiegedCluster::Naming>& named) {
    cluster_->Besiege(
        name,
        [&](const std::atomic<bool>& over) {
          std::vector<std::thread> threads;
          for (const auto& attack : attacks) {
            threads.emplace_back([&] {
              PS_CHECK(syscall(SYS_setresgid, kNobody, kNobody, kNobody) == 0);
              PS_CHECK(syscall(SYS_setresuid, kNobody, kNobody, kNobody) == 0);
              attack(over);
            });
          }
          for (std::thread& thread : threads) thread.join();
        },
        named);
    const std::optional<double> rings = cluster_->WorkerMetric("penstock_worker_memory_bytes{holder=\"rings\"}"),
                                budget = cluster_->WorkerMetric("penstock_worker_memory_budget_bytes");
    ASSERT_TRUE(rings && budget);
    EXPECT_LE(*rings, *budget / 8);
  }

  support::TempFolder folder_;
  std::optional<BesiegedCluster> cluster_;
  std::string path_;
};

TEST_F(ForeignUser, WithoutATicketOccupiesFewConnectionsAndNoMemory) {
  const auto silent = [this](const std::atomic<bool>& over) {
    std::deque<SocketPeer> peers;
    while (!over) {
      peers.emplace_back(path_);
      if (peers.size() > kConnections) peers.pop_front();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  const auto flood = [this](const std::atomic<bool>& over) {
    while (!over) SocketPeer peer(path_);
  };
  const auto garbage = [this](const std::atomic<bool>& over) {
    const std::string packets[] = {std::string(5000, 'x'), std::string("\x06") + std::string(4000, 't'),
                                   transport::ReleaseBytes({UINT64_MAX}), transport::TicketBytes("forged")};
    for (size_t n = 0; !over; ++n) {
      SocketPeer(path_).Send(packets[n % std::size(packets)]);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  Besiege("connections of another user without a ticket", {silent, flood, garbage},
          {By("limit"), By("other"), By("unauthenticated")});
  EXPECT_GT(cluster_->WorkerMetric("penstock_worker_sent_bytes_total{carrier=\"shared_memory\"}").value_or(0), 0);
}

TEST_F(ForeignUser, WithATicketTakesRingsAndNeverReads) {
  const v1::Job job = cluster_->SubmittedJob();
  const std::string ticket = cluster_->WorkerFor("mallory").ticket();
  std::vector<v1::ClientMessage> messages = support::GrantMessages(job, BesiegedCluster::kRecords, 200);
  for (const v1::ClientMessage& fetch : support::FetchMessages(BesiegedCluster::kRecords, 32, 10000))
    messages.push_back(fetch);
  const auto take = [&](const std::atomic<bool>& over) {
    std::deque<SocketPeer> peers;
    for (size_t n = 0; !over; ++n) {
      SocketPeer peer(path_);
      if (!peer.Send(transport::TicketBytes(ticket)) || !peer.IsWelcome()) {
        if (peers.size() > kConnections) peers.pop_front();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        continue;
      }
      bool sent = peer.SendMessage(support::OpenMessage(job, absl::StrCat("taker-", n)));
      for (size_t i = 0; sent && i < messages.size(); ++i) sent = peer.SendMessage(messages[i]);
      peers.push_back(std::move(peer));
    }
  };
  const auto garbage = [&](const std::atomic<bool>& over) {
    while (!over) {
      SocketPeer peer(path_);
      if (peer.Send(transport::TicketBytes(ticket)) && peer.IsWelcome())
        peer.Send(transport::ReleaseBytes({UINT64_MAX}));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  Besiege("rings of another user", {take, garbage},
          {By("limit", "mallory", "streams through shared memory, the most that"),
           By("limit", "mallory", "is closed: this client has read nothing for 2 s"), By("other", "mallory")});
}

}  // namespace
}  // namespace penstock::hostile
