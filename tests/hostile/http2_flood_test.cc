// Frames of HTTP/2 as fast as they can be sent: calls that are reset at once, headers without an end, settings, pings.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/hostile/besieged_cluster.h"
#include "tests/hostile/http2_frames.h"
#include "tests/hostile/raw_peer.h"

namespace penstock::hostile {
namespace {

// Returns the next bytes of a connection. `n` counts them from 0.
using NextBytes = std::function<std::string(uint32_t n)>;

class Http2Flood : public ::testing::TestWithParam<bool> {
 protected:
  static BesiegedCluster::Security Wire() {
    return GetParam() ? BesiegedCluster::Security::kTls : BesiegedCluster::Security::kPlaintext;
  }
  // Sends the bytes to both daemons without a pause, by a thread each, and connects again when a connection is closed.
  // For `named` see Besiege.
  void Flood(BesiegedCluster& cluster, const std::string& name, const NextBytes& next,
             const std::vector<BesiegedCluster::Naming>& named = {}) {
    const std::vector<uint16_t> ports = {cluster.coordinator_port(), cluster.worker_port()};
    const auto attack = [&](const std::atomic<bool>& over) {
      std::vector<std::thread> threads;
      for (const uint16_t port : ports) {
        threads.emplace_back([&, port] {
          while (!over) FloodOnce(port, over, next);
        });
      }
      for (std::thread& thread : threads) thread.join();
    };
    cluster.Besiege(name, attack, named);
    EXPECT_GT(sent_.load(), 100u);
    std::printf("%s: %llu pieces sent over %llu connections\n", name.c_str(),
                static_cast<unsigned long long>(sent_.load()), static_cast<unsigned long long>(connections_.load()));
  }

 private:
  void FloodOnce(uint16_t port, const std::atomic<bool>& over, const NextBytes& next) {
    RawPeer peer(port, GetParam() ? RawPeer::Wire::kTls : RawPeer::Wire::kPlain);
    ++connections_;
    peer.Send(Preface());
    for (uint32_t n = 0; !over && peer.StaysOpen(); ++n) {
      if (peer.Send(next(n))) ++sent_;
    }
  }

  std::atomic<uint64_t> sent_{0}, connections_{0};
};

TEST_P(Http2Flood, RapidResets) {
  constexpr uint64_t kMemoryBytes = 200'000'000;
  BesiegedCluster cluster(Wire(), absl::StrCat("calls_per_second: 100 memory_bytes: ", kMemoryBytes));
  const std::string coordinator = CallHeaders("/penstock.v1.Coordinator/GetStatus"),
                    worker = CallHeaders("/penstock.v1.Worker/Stream");
  const auto next = [&](uint32_t n) {
    std::string bytes;
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t stream = 2 * (16 * n + i) + 1;
      absl::StrAppend(&bytes, Frame(FrameType::kHeaders, kEndHeaders, stream, i % 2 == 0 ? coordinator : worker),
                      Frame(FrameType::kData, 0, stream, std::string(5, '\0')),
                      Frame(FrameType::kReset, 0, stream, std::string("\0\0\0\x08", 4)));
    }
    return bytes;
  };
  Flood(cluster, "rapid resets", next, {{.by = "worker"}});
  // gRPC ends a reset unary call before its handler can count it. So the coordinator names the host that fills its
  // memory. While it keeps up, it rejects no caller.
  if (cluster.processes().coordinator().Memory() > 2 * kMemoryBytes) cluster.ExpectNamed("coordinator", "limit");
}

TEST_P(Http2Flood, HeadersWithoutAnEnd) {
  BesiegedCluster cluster(Wire(), "memory_bytes: 200000000");
  const std::string header = Header("x-endless", std::string(100, 'x'));
  const auto next = [&](uint32_t n) {
    if (n == 0) return Frame(FrameType::kHeaders, 0, 1, CallHeaders("/penstock.v1.Coordinator/GetStatus"));
    std::string headers;
    for (int i = 0; i < 64; ++i) headers += header;
    return Frame(FrameType::kContinuation, 0, 1, headers);
  };
  Flood(cluster, "endless headers", next, {{.by = "coordinator"}, {.by = "worker"}});
}

TEST_P(Http2Flood, Settings) {
  BesiegedCluster cluster(Wire(), "");
  const std::string frame = Frame(FrameType::kSettings, 0, 0, std::string("\0\x03\0\0\0\x64", 6));
  Flood(cluster, "settings", [&](uint32_t) {
    std::string bytes;
    for (int i = 0; i < 64; ++i) bytes += frame;
    return bytes;
  });
}

TEST_P(Http2Flood, Pings) {
  BesiegedCluster cluster(Wire(), "");
  const std::string frame = Frame(FrameType::kPing, 0, 0, "penstock");
  Flood(cluster, "pings", [&](uint32_t) {
    std::string bytes;
    for (int i = 0; i < 64; ++i) bytes += frame;
    return bytes;
  });
}

INSTANTIATE_TEST_SUITE_P(Wires, Http2Flood, ::testing::Bool(),
                         [](const auto& wire) { return wire.param ? "Tls" : "Plaintext"; });

}  // namespace
}  // namespace penstock::hostile
