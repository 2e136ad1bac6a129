// Connections that complete no handshake, and flooded HTTP ports.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/hostile/besieged_cluster.h"
#include "tests/hostile/raw_peer.h"
#include "tests/support/wait_until.h"

namespace penstock::hostile {
namespace {

class ConnectionsFlood : public ::testing::TestWithParam<bool> {
 protected:
  static BesiegedCluster::Security Wire() {
    return GetParam() ? BesiegedCluster::Security::kTls : BesiegedCluster::Security::kPlaintext;
  }
  static void WaitUntilOver(const std::atomic<bool>& over) {
    support::WaitUntil([&] { return over.load(); }, std::chrono::minutes(5));
  }
  static size_t OpenOf(std::vector<RawPeer>& peers) {
    return static_cast<size_t>(
        std::count_if(peers.begin(), peers.end(), [](RawPeer& peer) { return peer.StaysOpen(); }));
  }
};

// The bytes of a TLS record that a handshake begins with, or of an HTTP/2 preface, without their end.
constexpr char kBeginOfTls[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", kBeginOfHttp2[] = "PRI * HTTP/2.0\r\n";

TEST_P(ConnectionsFlood, TwoThousandHalfOpenHandshakes) {
  BesiegedCluster cluster(Wire(), "connections_per_host: 300 connections_per_second: 1000 handshake_seconds: 2");
  const std::vector<uint16_t> ports = {cluster.coordinator_port(), cluster.worker_port()};
  std::vector<RawPeer> peers;
  cluster.Besiege("half-open handshakes", [&](const std::atomic<bool>& over) {
    for (int i = 0; i < 2000; ++i) {
      peers.emplace_back(ports[static_cast<size_t>(i) % 2], RawPeer::Wire::kPlain);
      if (i % 4 < 2) peers.back().Send(cluster.tls() ? kBeginOfTls : kBeginOfHttp2);
    }
    EXPECT_TRUE(support::WaitUntil([&] { return OpenOf(peers) <= 600; })) << "each daemon admits 300";
    WaitUntilOver(over);
  });
  EXPECT_TRUE(support::WaitUntil([&] { return OpenOf(peers) == 0; })) << "the handshakes have a deadline";
  cluster.ExpectNamed("coordinator", "limit");
  cluster.ExpectNamed("worker", "limit");
}

TEST_P(ConnectionsFlood, AThousandSlowClientsOfTheHttpPorts) {
  BesiegedCluster cluster(Wire(), "");
  cluster.Besiege("slow HTTP clients", [&](const std::atomic<bool>& over) {
    std::vector<RawPeer> peers;
    const std::string head = "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ";
    for (int i = 0; i < 1000; ++i) {
      peers.emplace_back(i % 2 == 0 ? cluster.coordinator_http() : cluster.worker_http(), RawPeer::Wire::kPlain);
      if (!cluster.tls()) peers.back().Send(head);
    }
    while (!over) {
      for (RawPeer& peer : peers) {
        if (peer.StaysOpen()) peer.Send("x");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  });
  cluster.ExpectNamed("coordinator", "limit");
  cluster.ExpectNamed("worker", "limit");
}

INSTANTIATE_TEST_SUITE_P(Wires, ConnectionsFlood, ::testing::Bool(),
                         [](const auto& wire) { return wire.param ? "Tls" : "Plaintext"; });

}  // namespace
}  // namespace penstock::hostile
