#include "tests/simulation/sim_network.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/transport/contract_test.h"
#include "transport/peer.h"

namespace penstock::simulation {
namespace {

class OnSimNetwork final : public transport::Carrier {
 public:
  ~OnSimNetwork() override { sim_.RunFor(kSecond); }
  transport::Transport* transport() override { return network_.TransportOf("client"); }
  std::string Listen(transport::StreamAcceptor* acceptor) override {
    network_.Listen("worker", acceptor);
    return "worker";
  }
  std::string Nowhere() override { return "nobody"; }
  transport::Peer::Kind peer_kind() override { return transport::Peer::Kind::kSimulated; }
  bool Await(const std::function<bool()>& done) override {
    for (int i = 0; i < 1000; ++i) {
      if (sim_.RunUntil(done, sim_.clock()->Now() + kMillisecond)) return true;
    }
    return false;
  }

 private:
  SimScheduler sim_{11};
  SimNetwork network_{&sim_, SimNetwork::Options()};
};

std::unique_ptr<transport::Carrier> MakeOnSimNetwork() { return std::make_unique<OnSimNetwork>(); }
using transport::CarrierContract;
INSTANTIATE_TEST_SUITE_P(SimNetwork, CarrierContract, ::testing::Values(&MakeOnSimNetwork));

class SimNetworkFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    network_.Listen("worker", &acceptor_);
    client_ = std::make_shared<transport::RecordedEnd>();
    client_->SetStream(network_.TransportOf("client")->Connect("worker", client_));
    client_->ReadAll();
    sim_.RunFor(kSecond);
    ASSERT_EQ(acceptor_.ends.size(), 1u);
    acceptor_.ends[0]->ReadAll();
  }
  void TearDown() override {
    client_->Close(absl::OkStatus());
    sim_.RunFor(20 * kSecond);
    client_->SetStream(nullptr);
    for (const auto& end : acceptor_.ends) end->SetStream(nullptr);
  }

  SimScheduler sim_{5};
  SimNetwork network_{&sim_, SimNetwork::Options()};
  transport::RecordingAcceptor acceptor_;
  std::shared_ptr<transport::RecordedEnd> client_;
};

TEST_F(SimNetworkFaults, MessagesSentDuringAShortCutArriveInOrderAfterIt) {
  network_.Cut("client", "worker");
  for (int i = 0; i < 5; ++i) client_->Write(std::to_string(i));
  sim_.RunFor(2 * kSecond);
  EXPECT_TRUE(acceptor_.ends[0]->messages().empty());
  network_.Heal("worker", "client");
  for (int i = 5; i < 10; ++i) client_->Write(std::to_string(i));
  sim_.RunFor(kSecond);
  std::string all;
  for (const std::string& message : acceptor_.ends[0]->messages()) all += message;
  EXPECT_EQ(all, "0123456789");
}

TEST_F(SimNetworkFaults, ALongCutClosesBothEnds) {
  network_.Cut("client", "worker");
  sim_.RunFor(7 * kSecond);
  EXPECT_FALSE(client_->closed());
  sim_.RunFor(2 * kSecond);
  ASSERT_TRUE(client_->closed());
  EXPECT_EQ(client_->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(acceptor_.ends[0]->closed());
  network_.Heal("client", "worker");
}

TEST_F(SimNetworkFaults, AKilledHostClosesItsPeersAndLosesItsMessages) {
  acceptor_.ends[0]->Write("on its way");
  bool called = false;
  network_.Deliver("worker", "client", [&] { called = true; });
  network_.Kill("worker");
  sim_.RunFor(kSecond);
  EXPECT_FALSE(called);
  ASSERT_TRUE(client_->closed());
  EXPECT_EQ(client_->status().code(), absl::StatusCode::kUnavailable);
  acceptor_.ends[0]->OnClosed(absl::OkStatus());  // its process is gone, and no other component closes it
}

}  // namespace
}  // namespace penstock::simulation
