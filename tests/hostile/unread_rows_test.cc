// Clients that request far more rows than they read, with grants and fetches of every kind.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/hostile/besieged_cluster.h"
#include "tests/support/cluster/deaf_client.h"
#include "transport/grpc/grpc_transport.h"

namespace penstock::hostile {
namespace {

using Messages = std::vector<v1::ClientMessage>;
using Security = BesiegedCluster::Security;

constexpr uint64_t kAll = BesiegedCluster::kRecords;
constexpr int kFetches = 32, kFetchedRows = 15872;  // the most that a session may have open
constexpr size_t kClients = 40;
constexpr std::chrono::milliseconds kShort(20), kLong(100);  // between two clients

class UnreadRows : public ::testing::TestWithParam<Security> {
 protected:
  // With TLS, the attacker is a trainer of the same job.
  static BesiegedCluster::Naming By(const std::string& reason) {
    return {
        .by = "worker", .reason = reason, .host = "127.0.0.1", .name = GetParam() == Security::kRoles ? "mallory" : ""};
  }

  // Keeps kClients streams open, each of which sends the messages of the next kind and reads nothing. Replaces the
  // oldest one after each pause.
  static void Besiege(BesiegedCluster& cluster, const std::string& name, std::chrono::milliseconds pause,
                      const std::function<std::vector<Messages>(const v1::Job&)>& kinds,
                      const std::vector<BesiegedCluster::Naming>& named) {
    const v1::Job job = cluster.SubmittedJob();
    const transport::WorkerAddress worker = cluster.WorkerFor("mallory");
    const std::vector<Messages> sent = kinds(job);
    cluster.Besiege(
        name,
        [&](const std::atomic<bool>& over) {
          transport::GrpcTransport transport({}, cluster.SecurityOf("mallory"));
          std::deque<std::shared_ptr<support::DeafClient>> clients;
          for (size_t n = 0; !over; ++n) {
            Messages messages = {support::OpenMessage(job, absl::StrCat("greedy-", n))};
            const Messages& kind = sent[n % sent.size()];
            messages.insert(messages.end(), kind.begin(), kind.end());
            clients.push_back(support::DeafClient::Connect(&transport, worker, std::move(messages)));
            if (clients.size() > kClients) {
              clients.front()->Close();
              clients.pop_front();
            }
            std::this_thread::sleep_for(pause);
          }
          for (const auto& client : clients) client->Close();
        },
        named);
  }

  // Uses the job's view for the first time, and then sends a grant for each range.
  struct Range {
    uint64_t epoch, begin, end;
  };
  static Messages GrantsOf(const v1::Job& job, const std::vector<Range>& ranges) {
    Messages messages = support::GrantMessages(job, kAll, 0);
    for (const Range& range : ranges) {
      v1::Grant* const grant = messages.emplace_back().mutable_grant();
      grant->set_view_term(job.view().term());
      grant->set_view_number(job.view().number());
      grant->set_epoch(range.epoch);
      grant->set_begin(range.begin);
      grant->set_end(range.end);
    }
    return messages;
  }
};

TEST_P(UnreadRows, GreedyGrants) {
  BesiegedCluster cluster(GetParam(), "");
  const auto kinds = [](const v1::Job& job) {
    std::vector<Range> overlapping, unordered;
    for (uint64_t i = 0; i < 5000; ++i) {
      overlapping.push_back({0, i % kAll, kAll});
      unordered.push_back({UINT64_MAX - i * (UINT64_MAX / 5000), 0, kAll});
    }
    Messages unknown = GrantsOf(job, {{0, 0, kAll}});
    unknown.back().mutable_grant()->set_view_number(UINT64_MAX);
    return std::vector<Messages>{
        support::GrantMessages(job, kAll, 200),     GrantsOf(job, overlapping),    GrantsOf(job, unordered),
        GrantsOf(job, {{0, 0, uint64_t{1} << 63}}), GrantsOf(job, {{7, kAll, 0}}), unknown};
  };
  Besiege(cluster, "greedy grants", kShort, kinds, {By("limit"), By("other")});
}

TEST_P(UnreadRows, FetchesOfAllRows) {
  BesiegedCluster cluster(GetParam(), "unread_seconds: 2");
  const auto kinds = [](const v1::Job&) {
    return std::vector<Messages>{support::FetchMessages(kAll, kFetches, kFetchedRows),
                                 support::FetchMessages(kAll, 1, kFetchedRows)};
  };
  BesiegedCluster::Naming no_room = By("limit"), unread = By("limit");
  no_room.text = "memory_budget_bytes has no room for the list";
  unread.text = "is closed: this client has read nothing for 2 s";
  Besiege(cluster, "unread fetches", kLong, kinds, {no_room, unread});
}

INSTANTIATE_TEST_SUITE_P(Wires, UnreadRows, ::testing::Values(Security::kPlaintext, Security::kRoles),
                         [](const auto& wire) { return wire.param == Security::kRoles ? "Tls" : "Plaintext"; });

}  // namespace
}  // namespace penstock::hostile
