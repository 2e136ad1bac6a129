// Clients that open the further connections of a stream, and read only the first one; and clients that open too many.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "tests/hostile/besieged_cluster.h"
#include "tests/hostile/lane_peer.h"
#include "tests/support/cluster/deaf_client.h"
#include "tests/support/wait_until.h"

namespace penstock::hostile {
namespace {

using Security = BesiegedCluster::Security;

constexpr size_t kPeers = 16;

class Lanes : public ::testing::TestWithParam<Security> {
 protected:
  // The worker uses each connection as soon as the client has opened it.
  Lanes() : cluster_(GetParam(), "unread_seconds: 2", {"--wire-connections", "4"}) {}

  // Runs `attack` in kPeers threads, again and again, each time for a new stream with 4000 granted epochs.
  void Besiege(const std::string& name, const BesiegedCluster::Naming& named,
               const std::function<void(LanePeer& peer, const std::atomic<bool>& over)>& attack) {
    const v1::Job job = cluster_.SubmittedJob();
    const transport::WorkerAddress worker = cluster_.WorkerFor("mallory");
    const net::ClientSecurity security = cluster_.SecurityOf("mallory");
    const std::vector<v1::ClientMessage> grants = support::GrantMessages(job, BesiegedCluster::kRecords, 4000);
    const auto all = [&](const std::atomic<bool>& over) {
      Mutex mutex;
      std::array<std::shared_ptr<LanePeer>, kPeers> peers;
      std::vector<std::thread> threads;
      for (size_t i = 0; i < kPeers; ++i) {
        threads.emplace_back([&, i] {
          for (int n = 0; !over; ++n) {
            const auto peer = std::make_shared<LanePeer>(worker, security);
            {
              MutexLock lock(&mutex);
              peers[i] = peer;
            }
            if (over) break;
            peer->Open(1, /*join=*/false);
            peer->Send(support::OpenMessage(job, absl::StrCat("lanes-", i, "-", n)));
            for (const v1::ClientMessage& message : grants) peer->Send(message);
            attack(*peer, over);
          }
        });
      }
      support::WaitUntil([&] { return over.load(); }, std::chrono::minutes(10));
      {
        MutexLock lock(&mutex);
        for (const auto& peer : peers) peer->Cancel();
      }
      for (std::thread& thread : threads) thread.join();
    };
    cluster_.Besiege(name, all, {named});
  }
  static BesiegedCluster::Naming By(const std::string& text) {
    return {.by = "worker", .host = "127.0.0.1", .name = GetParam() == Security::kRoles ? "mallory" : "", .text = text};
  }

  BesiegedCluster cluster_;
};

TEST_P(Lanes, StalledOnes) {
  Besiege("stalled connections of streams", By("is closed: this client has read nothing for 2 s"),
          [](LanePeer& peer, const std::atomic<bool>& over) {
            peer.Open(4, /*join=*/true);
            while (!over && peer.ReadFirst()) continue;
          });
}

TEST_P(Lanes, HundredsForOneStream) {
  Besiege("hundreds of connections for each stream", By(""),
          [](LanePeer& peer, const std::atomic<bool>&) { peer.Open(300, /*join=*/false); });
}

INSTANTIATE_TEST_SUITE_P(Wires, Lanes, ::testing::Values(Security::kPlaintext, Security::kRoles),
                         [](const auto& wire) { return wire.param == Security::kRoles ? "Tls" : "Plaintext"; });

}  // namespace
}  // namespace penstock::hostile
