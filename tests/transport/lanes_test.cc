// Parts of a stream over several connections: numbers before messages, their order, and the number of lanes.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/runtime/random_source.h"
#include "transport/frame.h"
#include "transport/lanes/lane.h"
#include "transport/lanes/lane_choice.h"
#include "transport/lanes/lane_order.h"

namespace penstock::transport {
namespace {

SliceList Message(const std::string& bytes) { return SliceList({Slice::Of(bytes)}); }

TEST(LanePrefixTest, IsRemovedForAnySliceBoundaries) {
  const std::string text = "rows and rows";
  const std::string whole = WithPrefix({LanePrefix::Kind::kMessage, 0x0102030405060708}, Message(text)).Joined();
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    SliceList message({Slice::Of(whole.substr(0, cut)), Slice(), Slice::Of(whole.substr(cut))});
    const std::optional<LanePrefix> prefix = TakePrefix(&message);
    ASSERT_TRUE(prefix.has_value()) << cut;
    EXPECT_EQ(prefix->kind, LanePrefix::Kind::kMessage);
    EXPECT_EQ(prefix->number, 0x0102030405060708u);
    EXPECT_EQ(message.Joined(), text);
    EXPECT_EQ(message.bytes(), text.size());
  }
}

TEST(LanePrefixTest, MessagesWithoutAPrefixStayUnchanged) {
  std::string unknown = WithPrefix({LanePrefix::Kind::kEnd, 1}).Joined();
  unknown[4] = 9;  // an unknown kind
  for (const std::string& bytes : {std::string(), std::string(15, '\xff'), std::string(40, '\0'), unknown}) {
    SliceList message = Message(bytes);
    EXPECT_FALSE(TakePrefix(&message).has_value());
    EXPECT_EQ(message.Joined(), bytes);
  }
}

// A worker without lanes sends frames, which begin with their header's length.
TEST(LanePrefixTest, NoFrameBeginsLikeAPrefix) {
  const std::string prefix = WithPrefix({LanePrefix::Kind::kMessage, 0}).Joined();
  uint32_t length = 0;
  for (size_t i = 0; i < 4; ++i) length |= uint32_t{static_cast<uint8_t>(prefix[i])} << (8 * i);
  EXPECT_GT(length, kMaxHeaderBytes);
}

TEST(StreamNameTest, Has128BitsInHexadecimal) {
  const std::string name = RandomHexId(RandomSource::Real());
  EXPECT_TRUE(IsStreamName(name)) << name;
  for (const char* none : {"", "abc", "0123456789abcdef0123456789abcdeg", "0123456789abcdef0123456789abcdef0"}) {
    EXPECT_FALSE(IsStreamName(none)) << none;
  }
}

// The law: for any choice of lanes by the worker and any speeds, a client that reads only from lanes without a waiting
// message gets every message once and in order. It holds at most one message per lane.
TEST(LaneOrderTest, ReadingFromEmptyLanesReturnsAllMessagesInOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const size_t lanes = 1 + random() % kMostLanes;
    std::vector<std::vector<uint64_t>> sent(lanes);
    const uint64_t messages = random() % 60;
    for (uint64_t i = 0; i < messages; ++i) sent[random() % lanes].push_back(i);
    for (auto& lane : sent) std::reverse(lane.begin(), lane.end());  // the next message is the last
    LaneOrder order;
    uint64_t next = 0;
    while (next < messages) {
      std::vector<size_t> readable;
      for (size_t lane = 0; lane < lanes; ++lane) {
        if (!order.Holds(lane) && !sent[lane].empty()) readable.push_back(lane);
      }
      if (!readable.empty() && random() % 2 == 0) {
        const size_t lane = readable[random() % readable.size()];
        ASSERT_TRUE(order.Add(lane, sent[lane].back(), Message(std::to_string(sent[lane].back()))));
        sent[lane].pop_back();
      } else if (order.HasNext()) {
        EXPECT_EQ(order.Take().Joined(), std::to_string(next++));
      } else {
        ASSERT_FALSE(readable.empty()) << "nothing can be read, and message " << next << " is missing";
      }
    }
    EXPECT_TRUE(order.empty());
    EXPECT_EQ(order.taken(), messages);
  }
}

TEST(LaneOrderTest, ImpossibleNumbersAreRejected) {
  LaneOrder order;
  EXPECT_TRUE(order.Add(0, 0, Message("a")));
  EXPECT_FALSE(order.Add(1, 0, Message("again, while it waits")));
  order.Take();
  EXPECT_FALSE(order.Add(1, 0, Message("again, after delivery")));
  EXPECT_TRUE(order.Add(1, 7, Message("b")));
  EXPECT_FALSE(order.Add(1, 3, Message("a lane that goes back")));
  EXPECT_FALSE(order.HasNext());
}

// ---- The number of lanes -------------------------------------------------------------------------------------------

// A worker that always has the next message. Its first n lanes together carry rate(n) bytes a second, and it spends the
// part `busy` of the time on writing.
struct Link {
  std::function<double(size_t)> rate;
  double busy = 1;
};

// Returns the number of lanes in use after `seconds`.
size_t LanesAfter(LaneChoice* choice, const Link& link, size_t ready, Nanos* now, int seconds) {
  constexpr double kMessage = 1 << 20;
  for (const Nanos end = *now + seconds * kSecond; *now < end;) {
    const auto all = static_cast<Nanos>(kMessage / link.rate(std::min(choice->lanes(), ready)) * kSecond);
    const auto writing = static_cast<Nanos>(static_cast<double>(all) * link.busy);
    choice->Full(*now);
    *now += writing;
    choice->Free(*now);
    choice->Sent(static_cast<uint64_t>(kMessage), ready, *now);
    *now += all - writing;
  }
  return choice->lanes();
}

TEST(LaneChoiceTest, UsesAsManyLanesAsIncreaseTheRate) {
  Nanos now = 0;
  LaneChoice choice;  // each connection carries 600 MB/s, the network 1.5 GB/s
  const Link link{[](size_t n) { return std::min(600e6 * static_cast<double>(n), 1500e6); }};
  EXPECT_EQ(LanesAfter(&choice, link, 4, &now, 20), 3u);
  EXPECT_EQ(LanesAfter(&choice, link, 4, &now, 3600), 3u)
      << "a fourth connection carries no more, however often it is tried";
}

TEST(LaneChoiceTest, KeepsOneLaneIfMoreDoNotIncreaseTheRate) {
  Nanos now = 0;
  LaneChoice choice;
  const Link link{[](size_t) { return 100e6; }};
  double more = 0, looks = 0;
  for (int i = 0; i < 3600; ++i) {
    more += LanesAfter(&choice, link, 4, &now, 1) > 1 ? 1 : 0;
    ++looks;
  }
  EXPECT_LT(more / looks, 0.02) << "lanes that did not help are rarely tried again";
}

TEST(LaneChoiceTest, TriesNoFurtherLaneIfTheWorkerWaitsForRows) {
  Nanos now = 0;
  LaneChoice choice;
  const Link link{[](size_t n) { return 600e6 * static_cast<double>(n); }, 0.6};
  for (int i = 0; i < 600; ++i) ASSERT_EQ(LanesAfter(&choice, link, 4, &now, 1), 1u);
}

TEST(LaneChoiceTest, UsesNoMoreLanesThanAreReady) {
  Nanos now = 0;
  LaneChoice choice;
  const Link link{[](size_t n) { return 600e6 * static_cast<double>(n); }};
  EXPECT_EQ(LanesAfter(&choice, link, 1, &now, 100), 1u);
  EXPECT_EQ(LanesAfter(&choice, link, 2, &now, 100), 2u);
}

}  // namespace
}  // namespace penstock::transport
