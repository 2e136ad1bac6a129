#include "net/trace/trace_taker.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/runtime/sim_scheduler.h"
#include "net/trace/trace_parts.h"

namespace penstock::net {
namespace {

// A coordinator whose clock is ahead by kAhead, and which answers after a while.
class TraceTakerTest : public ::testing::Test {
 protected:
  static constexpr Nanos kAhead = 5000 * kSecond;

  void Put(const v1::PutTraceRequest& request, TraceTaker::Done done) {
    put.push_back(request);
    if (away) {
      sim.PostAt(sim.clock()->Now() + kMillisecond, [done] { done(absl::UnavailableError("away")); });
      return;
    }
    const Nanos received = sim.clock()->Now() + static_cast<Nanos>(sim.Draw(kMillisecond));
    sim.PostAt(received + static_cast<Nanos>(sim.Draw(kMillisecond)), [done, received] {
      v1::PutTraceReply reply;
      reply.set_received(received + kAhead);
      reply.set_sent(received + kAhead);
      done(reply);
    });
  }
  std::vector<v1::PutTraceRequest> Parts() const {
    std::vector<v1::PutTraceRequest> parts;
    for (const v1::PutTraceRequest& request : put) {
      if (request.has_part()) parts.push_back(request);
    }
    return parts;
  }
  static v1::TraceOrder Order(uint64_t id) {
    v1::TraceOrder order;
    order.set_trace(id);
    order.set_job("train");
    order.set_begin_in_ms(1000);
    order.set_length_ms(2000);
    order.set_most_events(100000);
    return order;
  }
  void AddEvents(int events) {
    const auto track = recorder->Track("row thread 1");
    ASSERT_NE(track, nullptr);
    for (int i = 0; i < events; ++i) {
      TraceEvent event;
      event.begin = event.end = sim.clock()->Now();
      event.name = recorder->Name("row");
      track->Add(event);
    }
  }

  SimScheduler sim{7};
  bool away = false;
  std::vector<v1::PutTraceRequest> put;
  std::shared_ptr<TraceRecorder> recorder = std::make_shared<TraceRecorder>();
  TraceTaker taker{&sim, recorder, v1::TracePart(), [this](const v1::PutTraceRequest& request, TraceTaker::Done done) {
                     Put(request, std::move(done));
                   }};
};

TEST_F(TraceTakerTest, RecordsInItsTimeAndHandsInWithTheClocksBounds) {
  taker.Take(Order(1), "w1");
  taker.Take(Order(1), "w1");  // orders repeat
  sim.RunFor(900 * kMillisecond);
  EXPECT_FALSE(recorder->on());
  sim.RunFor(200 * kMillisecond);
  ASSERT_TRUE(recorder->on());
  AddEvents(10);
  sim.RunFor(2 * kSecond);
  EXPECT_FALSE(recorder->on());
  const auto parts = Parts();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts[0].last());
  EXPECT_EQ(parts[0].process(), "w1");
  EXPECT_EQ(put.size(), 1u + 2 * TraceTaker::kExchanges);
  const v1::TracePart& part = parts[0].part();
  EXPECT_LE(part.least_offset(), kAhead);
  EXPECT_GE(part.most_offset(), kAhead);
  EXPECT_LT(part.most_offset() - part.least_offset(), 2 * kMillisecond);
  EXPECT_EQ(part.ended() - part.began(), 2 * kSecond);
  ASSERT_EQ(part.tracks_size(), 1);
  EXPECT_EQ(part.tracks(0).events_size(), 10);
  EXPECT_EQ(part.names(static_cast<int>(part.tracks(0).events(0).name())), "row");
  // This order is over, and another number is a new order.
  taker.Take(Order(1), "w1");
  sim.RunFor(5 * kSecond);
  EXPECT_EQ(Parts().size(), 1u);
  taker.Take(Order(2), "w1");
  sim.RunFor(5 * kSecond);
  EXPECT_EQ(Parts().size(), 2u);
}

TEST_F(TraceTakerTest, MuchIsHandedInInPartsThatStandAlone) {
  taker.Take(Order(1), "w1");
  sim.RunFor(1100 * kMillisecond);
  AddEvents(3 * static_cast<int>(TraceTaker::kPartEvents));
  sim.RunFor(5 * kSecond);
  const auto parts = Parts();
  ASSERT_EQ(parts.size(), 3u);
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].last(), i == 2);
    EXPECT_EQ(parts[i].part().tracks(0).events_size(), static_cast<int>(TraceTaker::kPartEvents));
    EXPECT_GT(parts[i].part().names_size(), 1);
  }
}

TEST_F(TraceTakerTest, ACoordinatorThatIsAwayIsTriedSomeTimesAndThenLetBe) {
  taker.Take(Order(1), "w1");
  sim.RunFor(2 * kSecond);
  away = true;
  sim.RunFor(60 * kSecond);
  const size_t tries = put.size();
  EXPECT_GT(Parts().size(), 1u);
  sim.RunFor(60 * kSecond);
  EXPECT_EQ(put.size(), tries);
  away = false;
  taker.Take(Order(2), "w1");  // it is ready for the next one
  sim.RunFor(5 * kSecond);
  EXPECT_TRUE(Parts().back().last());
  EXPECT_EQ(Parts().back().trace(), 2u);
}

TEST_F(TraceTakerTest, StoppedItRecordsNothingMore) {
  taker.Take(Order(1), "w1");
  sim.RunFor(1100 * kMillisecond);
  ASSERT_TRUE(recorder->on());
  taker.Stop();
  sim.RunFor(5 * kSecond);
  EXPECT_FALSE(recorder->on());
  EXPECT_TRUE(Parts().empty());
}

}  // namespace
}  // namespace penstock::net
