// Streams over several connections, on virtual time: the carrier's contract, and connections that are cut, fail to
// open, or are requested by strangers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/runtime/random_source.h"
#include "tests/simulation/sim_network.h"
#include "tests/transport/contract_test.h"
#include "transport/lanes/laned_client.h"
#include "transport/lanes/laned_server.h"
#include "transport/ownership.h"
#include "transport/peer.h"

namespace penstock::simulation {
namespace {

using testing::HasSubstr;

transport::LaneOptions AllLanes() {
  transport::LaneOptions options;
  options.most = transport::kMostLanes;
  options.all = true;
  return options;
}

SimNetwork::Options Wide() {
  SimNetwork::Options options;
  options.most_delay = 20 * kMillisecond;  // lanes overtake each other
  return options;
}

// Each connection goes to its own host, so that a test can cut it: lane-0, lane-1, ... in the order of opening.
class LanedNetwork final : public transport::Transport {
 public:
  explicit LanedNetwork(uint64_t seed, const transport::LaneOptions& options = AllLanes())
      : sim_(seed), random_(seed), options_(options) {}
  ~LanedNetwork() override {
    sim_.RunFor(30 * kSecond);
    network_.Finish();
  }

  void Listen(transport::StreamAcceptor* acceptor) {
    acceptor_ = std::make_unique<transport::LaneAcceptor>(acceptor, &sim_, options_);
  }

  std::shared_ptr<transport::MessageStream> Connect(const transport::WorkerAddress& worker,
                                                    std::shared_ptr<transport::StreamEvents> events) override {
    const bool nobody = worker.network == "nobody";
    transport::ConnectLane connect = [this, nobody](const transport::LaneCall& call,
                                                    std::shared_ptr<transport::StreamEvents> of_lane) {
      calls.push_back(call);
      return Call(call, std::move(of_lane), nobody || (call.joins && unreachable));
    };
    return transport::ConnectLanes(
        std::move(connect), std::move(events), [this](Task task) { sim_.Post(std::move(task)); }, sim_.clock(),
        transport::LaneOffer{0, kMillisecond, &random_});
  }

  std::shared_ptr<transport::MessageStream> Call(const transport::LaneCall& call,
                                                 std::shared_ptr<transport::StreamEvents> events, bool nobody = false) {
    const std::string host = absl::StrCat("lane-", hosts_.size());
    hosts_.push_back(std::make_unique<Host>(Host{acceptor_.get(), call}));
    if (!nobody) network_.Listen(host, hosts_.back().get());
    return network_.TransportOf("client")->Connect(host, std::move(events));
  }

  void Cut(size_t lane) { network_.Cut("client", absl::StrCat("lane-", lane)); }
  SimScheduler& sim() { return sim_; }

  std::vector<transport::LaneCall> calls;  // calls of the client
  bool unreachable = false;                // whether further lanes fail

 private:
  struct Host final : transport::StreamAcceptor {
    Host(transport::LaneAcceptor* of_all, transport::LaneCall made) : acceptor(of_all), call(std::move(made)) {}
    std::shared_ptr<transport::StreamEvents> Accept(std::shared_ptr<transport::MessageStream> stream) override {
      return acceptor->Accept(std::move(stream), call);
    }
    transport::LaneAcceptor* const acceptor;
    const transport::LaneCall call;
  };

  SimScheduler sim_;
  SeededRandom random_;
  const transport::LaneOptions options_;
  std::unique_ptr<transport::LaneAcceptor> acceptor_;
  std::vector<std::unique_ptr<Host>> hosts_;
  SimNetwork network_{&sim_, Wide()};
};

class OnLanes final : public transport::Carrier {
 public:
  transport::Transport* transport() override { return &network_; }
  std::string Listen(transport::StreamAcceptor* acceptor) override {
    network_.Listen(acceptor);
    return "worker";
  }
  std::string Nowhere() override { return "nobody"; }
  transport::Peer::Kind peer_kind() override { return transport::Peer::Kind::kSimulated; }
  bool Await(const std::function<bool()>& done) override {
    for (int i = 0; i < 20000; ++i) {
      if (network_.sim().RunUntil(done, network_.sim().clock()->Now() + kMillisecond)) return true;
    }
    return false;
  }

 private:
  LanedNetwork network_{3};
};

std::unique_ptr<transport::Carrier> MakeOnLanes() { return std::make_unique<OnLanes>(); }
using transport::CarrierContract;
INSTANTIATE_TEST_SUITE_P(SimLanes, CarrierContract, ::testing::Values(&MakeOnLanes));

class SimLanesTest : public ::testing::Test {
 protected:
  ~SimLanesTest() override { Finish(); }

  // Ends the stream. Begin() may start another.
  void Finish() {
    if (client_ != nullptr) client_->Close(absl::OkStatus());
    network_ = nullptr;
    if (client_ != nullptr) client_->SetStream(nullptr);
    client_ = nullptr;
    for (const auto& end : acceptor_.ends) end->SetStream(nullptr);
    acceptor_.ends.clear();
    sent_ = 0;
  }

  void Begin(uint64_t seed = 5, const transport::LaneOptions& options = AllLanes(), bool unreachable = false) {
    network_ = std::make_unique<LanedNetwork>(seed, options);
    network_->unreachable = unreachable;
    network_->Listen(&acceptor_);
    client_ = std::make_shared<transport::RecordedEnd>();
    stream_ = network_->Connect("worker", client_);
    client_->SetStream(stream_);
    client_->ReadAll();
    network_->sim().RunFor(kSecond);
    ASSERT_EQ(acceptor_.ends.size(), 1u);
    worker().ReadAll();
  }
  transport::RecordedEnd& worker() { return *acceptor_.ends[0]; }
  // Writes `messages` more messages and runs for a time in which they arrive.
  void Send(int messages) {
    for (int i = 0; i < messages; ++i) worker().Write(absl::StrCat("message ", sent_++));
    network_->sim().RunFor(5 * kSecond);
  }
  void ExpectAllInOrder() {
    const std::vector<std::string> got = client_->messages();
    ASSERT_EQ(got.size(), sent_);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], absl::StrCat("message ", i));
  }

  std::unique_ptr<LanedNetwork> network_;
  transport::RecordingAcceptor acceptor_;
  std::shared_ptr<transport::RecordedEnd> client_;
  std::shared_ptr<transport::MessageStream> stream_;
  size_t sent_ = 0;
};

TEST_F(SimLanesTest, ManyMessagesArriveOverAllLanesInOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Begin(seed);
    for (int i = 0; i < 10; ++i) Send(60);
    EXPECT_GT(network_->calls.size(), 3u);
    ExpectAllInOrder();
    worker().Close(absl::FailedPreconditionError("the job is gone"));
    network_->sim().RunFor(5 * kSecond);
    ASSERT_TRUE(client_->closed());
    ExpectAllInOrder();
    EXPECT_EQ(client_->status().message(), "the job is gone");
    EXPECT_TRUE(worker().closed());
    Finish();
  }
}

// Messages of a closing worker are under way on several lanes, which overtake each other.
TEST_F(SimLanesTest, AWorkersCloseArrivesAfterAllItsMessages) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Begin(seed);
    Send(100);
    size_t taken = 0;
    for (int i = 0; i < 40; ++i) worker().Write(absl::StrCat("message ", sent_ + static_cast<size_t>(i)));
    network_->sim().RunUntil([&] { return worker().written() >= 110; }, network_->sim().clock()->Now() + kSecond);
    taken = worker().written();
    worker().Close(absl::OkStatus());
    network_->sim().RunFor(10 * kSecond);
    ASSERT_TRUE(client_->closed());
    EXPECT_TRUE(client_->status().ok()) << client_->status();
    EXPECT_GE(client_->count(), taken);
    const std::vector<std::string> got = client_->messages();
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], absl::StrCat("message ", i));
    Finish();
  }
}

TEST_F(SimLanesTest, ALostLaneEndsTheStreamAtBothEnds) {
  Begin();
  for (int i = 0; i < 5; ++i) Send(60);
  ASSERT_GT(network_->calls.size(), 2u);
  network_->Cut(1);
  for (int i = 0; i < 100; ++i) worker().Write("more");
  network_->sim().RunFor(20 * kSecond);
  ASSERT_TRUE(client_->closed()) << "the trainer waits forever";
  EXPECT_EQ(client_->status().code(), absl::StatusCode::kUnavailable) << client_->status();
  EXPECT_TRUE(worker().closed());
}

TEST_F(SimLanesTest, LosingTheFirstLaneEndsTheStreamAtBothEnds) {
  Begin();
  Send(100);
  network_->Cut(0);
  network_->sim().RunFor(20 * kSecond);
  ASSERT_TRUE(client_->closed());
  EXPECT_EQ(client_->status().code(), absl::StatusCode::kUnavailable) << client_->status();
  EXPECT_TRUE(worker().closed());
}

TEST_F(SimLanesTest, AStreamContinuesIfFurtherLanesFailToOpen) {
  Begin(5, AllLanes(), /*unreachable=*/true);
  for (int i = 0; i < 5; ++i) Send(50);
  ExpectAllInOrder();
  EXPECT_EQ(network_->calls.size(), 2u) << "the client requested one more connection, once";
  EXPECT_FALSE(client_->closed());
}

TEST_F(SimLanesTest, AWorkerAcceptsNoMoreLanesThanItsLimit) {
  transport::LaneOptions two = AllLanes();
  two.most = 2;
  std::vector<absl::Status> rejected;
  two.on_rejected = [&rejected](const transport::Peer&, const absl::Status& status) { rejected.push_back(status); };
  Begin(5, two);
  for (int i = 0; i < 5; ++i) Send(50);
  ExpectAllInOrder();
  EXPECT_TRUE(rejected.empty()) << "a client learns the limit by one refusal";
  EXPECT_EQ(network_->calls.size(), 3u) << "the worker rejects the third, and the client requests no other";
  EXPECT_EQ(acceptor_.ends.size(), 1u) << "a lane is no stream";
  for (size_t i = 1; i <= 3; ++i) {
    auto more = std::make_shared<transport::RecordedEnd>();
    more->SetStream(network_->Call(transport::LaneCall{network_->calls[0].stream, true}, more));
    more->ReadAll();
    network_->sim().RunFor(kSecond);
    EXPECT_TRUE(more->closed());
    more->SetStream(nullptr);
    ASSERT_EQ(rejected.size(), i);
    EXPECT_EQ(rejected.back().code(), absl::StatusCode::kResourceExhausted);
  }
  Finish();
}

// A client without an order of its own, which reads the first lane only.
TEST_F(SimLanesTest, AStreamWaitsForALaneThatTheClientLeavesUnread) {
  transport::LaneOptions options = AllLanes();
  options.ahead = 100;
  network_ = std::make_unique<LanedNetwork>(5, options);
  network_->Listen(&acceptor_);
  const std::string name(32, '7');
  client_ = std::make_shared<transport::RecordedEnd>();
  client_->SetStream(network_->Call(transport::LaneCall{name, false}, client_));
  client_->ReadAll();
  network_->sim().RunFor(kSecond);
  auto unread = std::make_shared<transport::RecordedEnd>();
  unread->SetStream(network_->Call(transport::LaneCall{name, true}, unread));
  network_->sim().RunFor(kSecond);
  ASSERT_EQ(acceptor_.ends.size(), 1u);
  unread->Write(transport::WithPrefix({transport::LanePrefix::Kind::kJoined, 0}).Joined());
  network_->sim().RunFor(kSecond);
  for (int i = 0; i < 1000; ++i) worker().Write(std::string(131072, 'r'));
  network_->sim().RunFor(100 * kSecond);
  EXPECT_GE(worker().written(), 100u);
  EXPECT_LT(worker().written(), 1000u);
  unread->ReadAll();
  network_->sim().RunFor(100 * kSecond);
  EXPECT_EQ(worker().written(), 1000u);
  unread->Close(absl::OkStatus());
  Finish();
  unread->SetStream(nullptr);
}

TEST_F(SimLanesTest, AClientWithoutTheStreamsNameGetsNoLane) {
  Begin();
  Send(10);
  for (const std::string& name : {std::string("none"), std::string(32, '7')}) {
    auto stranger = std::make_shared<transport::RecordedEnd>();
    stranger->SetStream(network_->Call(transport::LaneCall{name, true}, stranger));
    stranger->ReadAll();
    network_->sim().RunFor(kSecond);
    ASSERT_TRUE(stranger->closed());
    EXPECT_EQ(stranger->status().code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(stranger->status().message()), HasSubstr("there is no stream"));
    stranger->SetStream(nullptr);
  }
  Send(50);
  ExpectAllInOrder();
}

TEST_F(SimLanesTest, ALaneThatTheRuleRejectsDoesNotJoin) {
  transport::LaneOptions options = AllLanes();
  std::vector<transport::Act> acts;
  options.may_act = [&acts](const transport::Claim& claim, const transport::Ownership* owned) {
    acts.push_back(claim.act);
    EXPECT_NE(owned, nullptr);
    EXPECT_EQ(claim.caller.kind, transport::Peer::Kind::kSimulated);
    return absl::PermissionDeniedError("no lane is allowed");
  };
  Begin(5, options);
  for (int i = 0; i < 5; ++i) Send(50);
  ExpectAllInOrder();
  EXPECT_EQ(acts, std::vector<transport::Act>{transport::Act::kAddLane}) << "a rejected client does not try again";
  EXPECT_FALSE(client_->closed());
  Finish();
}

TEST_F(SimLanesTest, ALaneThatSendsAnUnexpectedMessageIsClosedAndTheStreamContinues) {
  Begin();
  Send(10);
  auto rude = std::make_shared<transport::RecordedEnd>();
  rude->SetStream(network_->Call(transport::LaneCall{network_->calls[0].stream, true}, rude));
  rude->Write("rows, please");
  rude->ReadAll();
  network_->sim().RunFor(kSecond);
  EXPECT_TRUE(rude->closed());
  rude->SetStream(nullptr);
  Send(50);
  ExpectAllInOrder();
  EXPECT_FALSE(client_->closed());
}

}  // namespace
}  // namespace penstock::simulation
