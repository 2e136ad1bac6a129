#include "client/delivery/delivery_tracker.h"

#include <gtest/gtest.h>

#include "client/delivery/pace.h"
#include "tests/client/delivery/by_hand.h"
#include "tests/client/delivery/world.h"

namespace penstock::client {
namespace {

std::vector<int> Upto(int n) {
  std::vector<int> all(n);
  for (int i = 0; i < n; ++i) all[i] = i;
  return all;
}

TEST(Delivery, DeliversEveryRowOnceInUndisturbedRuns) {
  for (const plan::AssignPolicy policy : {plan::AssignPolicy::kByRecord, plan::AssignPolicy::kByRank}) {
    for (const plan::LastBatch last : {plan::LastBatch::kDrop, plan::LastBatch::kPad}) {
      for (uint64_t rank = 0; rank < 3; ++rank) {
        WorldOptions options;
        options.policy = policy;
        options.last = last;
        options.world_size = 3;
        options.rank = rank;
        World world(options);
        world.ChangeView(Upto(4));
        ASSERT_EQ(world.Run(60 * kSecond), "");
        EXPECT_TRUE(world.finished());
        EXPECT_EQ(world.tracker().stats().fetched_rows, 0u);
        EXPECT_EQ(world.tracker().stats().duplicate_rows, 0u);
        EXPECT_EQ(world.steps_taken(), last == plan::LastBatch::kPad ? 26u : 24u);
      }
    }
  }
}

TEST(Delivery, ARowFetchedAgainFromItsWorkerDoesNotCountAsAnothers) {
  World alone(WorldOptions{.workers = 1});
  alone.ChangeView(Upto(1));
  alone.At(50 * kMillisecond, [&] { alone.Kill(0); });
  alone.At(60 * kMillisecond, [&] { alone.Revive(0); });
  ASSERT_EQ(alone.Run(60 * kSecond), "");
  EXPECT_GT(alone.tracker().stats().fetched_rows, 0u);
  EXPECT_EQ(alone.tracker().stats().fetched_elsewhere, 0u);

  World several(WorldOptions{});
  several.ChangeView(Upto(4));
  several.At(50 * kMillisecond, [&] { several.Kill(2); });
  ASSERT_EQ(several.Run(60 * kSecond), "");
  EXPECT_GT(several.tracker().stats().fetched_elsewhere, 0u);
  EXPECT_LE(several.tracker().stats().fetched_elsewhere, several.tracker().stats().fetched_rows);
}

TEST(Delivery, WorksWithTheSmallestWindow) {
  for (const uint64_t window : {2, 3, 4, 5}) {
    WorldOptions options;
    options.window = window;
    World world(options);
    world.ChangeView(Upto(2));
    ASSERT_EQ(world.Run(60 * kSecond), "");
    EXPECT_TRUE(world.finished());
  }
}

TEST(Delivery, TheRowsOfADeadWorkerAreFetchedAtOnce) {
  WorldOptions options;
  World world(options);
  world.ChangeView(Upto(4));
  world.At(50 * kMillisecond, [&] { world.Kill(2); });
  ASSERT_EQ(world.Run(60 * kSecond), "");
  EXPECT_TRUE(world.finished());
  EXPECT_GT(world.tracker().stats().fetched_rows, 0u);
  EXPECT_LT(world.longest_wait(), 100 * kMillisecond);
  EXPECT_EQ(world.tracker().FailedWorkers(), std::vector<std::string>{"w2"});
}

TEST(Delivery, AHungWorkerCostsOneSecondOnceAndNoViewChange) {
  WorldOptions options;
  options.epochs = 4;
  World world(options);
  world.ChangeView(Upto(4));
  world.At(100 * kMillisecond, [&] { world.Hang(1); });
  ASSERT_EQ(world.Run(60 * kSecond), "");
  EXPECT_TRUE(world.finished());
  EXPECT_LE(world.longest_wait(), 1100 * kMillisecond);
  // 48 steps of 10 ms and one delay, not one delay per step.
  EXPECT_LT(world.now(), 3 * kSecond);
}

TEST(Delivery, AReturnedWorkerIsUsedAgain) {
  WorldOptions options;
  options.epochs = 20;
  World world(options);
  world.ChangeView(Upto(2));
  world.At(50 * kMillisecond, [&] { world.Kill(1); });
  uint64_t sent = 0;
  world.At(800 * kMillisecond, [&] {
    sent = world.rows_sent_by(1);
    world.Revive(1);
  });
  ASSERT_EQ(world.Run(60 * kSecond), "");
  EXPECT_TRUE(world.finished());
  EXPECT_GT(world.rows_sent_by(1), sent + 300);
}

TEST(Delivery, WaitsForTheOnlyWorkerToReturn) {
  WorldOptions options;
  World world(options);
  world.ChangeView({0});
  world.At(40 * kMillisecond, [&] { world.Kill(0); });
  ASSERT_EQ(world.Run(20 * kSecond), "");
  EXPECT_FALSE(world.finished());
  const std::string missing = world.tracker().DescribeMissing();
  EXPECT_NE(missing.find("w0"), std::string::npos) << missing;
  EXPECT_NE(missing.find("rows"), std::string::npos) << missing;
  EXPECT_TRUE(world.tracker().Refusal().ok());
  world.Revive(0);
  ASSERT_EQ(world.Run(40 * kSecond), "");
  EXPECT_TRUE(world.finished());
}

TEST(Delivery, ADrainedWorkerCostsNoFetch) {
  WorldOptions options;
  options.epochs = 4;
  World world(options);
  world.ChangeView(Upto(3));
  world.At(100 * kMillisecond, [&] {
    world.ChangeView({0, 1});
    world.Drain(2);
  });
  ASSERT_EQ(world.Run(60 * kSecond), "");
  EXPECT_TRUE(world.finished());
  EXPECT_EQ(world.open_streams(2), 0) << "its stream is closed when it owes nothing";
  EXPECT_EQ(world.tracker().stats().broken_streams, 0u);
  EXPECT_EQ(world.tracker().stats().fetched_rows, 0u);
  EXPECT_LT(world.longest_wait(), 30 * kMillisecond);
}

TEST(Delivery, ANewWorkerServesFromTheNextGrantOn) {
  WorldOptions options;
  options.epochs = 4;
  World world(options);
  world.ChangeView({0, 1});
  world.At(100 * kMillisecond, [&] { world.ChangeView({0, 1, 2}); });
  ASSERT_EQ(world.Run(60 * kSecond), "");
  EXPECT_TRUE(world.finished());
  EXPECT_GT(world.rows_sent_by(2), 50u);
  EXPECT_EQ(world.tracker().stats().view_changes, 1u);
  EXPECT_EQ(world.tracker().stats().fetched_rows, 0u);
}

TEST(Delivery, ARejectionIsReportedIfNoOtherWorkerServes) {
  WorldOptions options;
  options.workers = 2;
  World world(options);
  world.Refuse(0, absl::ResourceExhaustedError("needs 10 bytes, has 5"));
  world.ChangeView({0, 1});
  ASSERT_EQ(world.Run(60 * kSecond), "");
  EXPECT_TRUE(world.finished()) << "the other worker serves all rows";

  World alone(options);
  alone.Refuse(0, absl::ResourceExhaustedError("needs 10 bytes, has 5"));
  alone.Refuse(1, absl::ResourceExhaustedError("needs 10 bytes, has 6"));
  alone.ChangeView({0, 1});
  ASSERT_EQ(alone.Run(5 * kSecond), "");
  const absl::Status refusal = alone.tracker().Refusal();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(std::string(refusal.message()).find("needs 10 bytes"), std::string::npos) << refusal;
  alone.Refuse(0, absl::OkStatus());
  ASSERT_EQ(alone.Run(30 * kSecond), "");
  EXPECT_TRUE(alone.finished()) << "the tracker keeps asking the workers that rejected it";
}

TEST(Delivery, AFailureIsReportedWithItsStep) {
  TrackerOptions options;
  options.window_steps = 4;
  options.order = *plan::DataOrder::Create({16}, {.shuffle = plan::Shuffle::kNone}, std::nullopt);
  DeliveryTracker tracker(*plan::Steps::Create(16, 4, plan::LastBatch::kDrop, 1), options);
  auto view = std::make_shared<plan::View>();
  view->key_space = 16;
  view->ranges = {{0, 16, 0, 0}};
  view->workers = {{"w0", "a:1"}};
  tracker.ViewChanged(view, 0);
  uint64_t stream = 0;
  for (const Command& command : tracker.TakeCommands()) {
    if (const auto* open = std::get_if<OpenStream>(&command)) stream = open->stream;
  }
  const auto arrive = [&](uint64_t row) {
    DeliveryTracker::Slot slot;
    EXPECT_EQ(tracker.RowArrived(stream, 0, row, 1, &slot), DeliveryTracker::Claim::kYours);
    return slot;
  };
  tracker.Failed(arrive(6), stream, absl::DataLossError("six"), 1);
  tracker.Failed(arrive(5), stream, absl::DataLossError("five"), 1);
  for (const uint64_t row : {0, 1, 2, 3, 4}) tracker.Filled(arrive(row), stream);
  ASSERT_TRUE(tracker.head_complete());
  EXPECT_TRUE(tracker.head_failure().ok());
  tracker.StepTaken(2);
  EXPECT_FALSE(tracker.head_complete());
  tracker.Filled(arrive(7), stream);
  ASSERT_TRUE(tracker.head_complete());
  EXPECT_EQ(tracker.head_failure(), absl::DataLossError("five"))
      << "the failure of the first failed row, not the first failure to arrive";
  DeliveryTracker::Slot slot;
  EXPECT_EQ(tracker.RowArrived(stream, 0, 5, 3, &slot), DeliveryTracker::Claim::kDuplicate);
  EXPECT_EQ(tracker.RowArrived(stream, 0, 0, 3, &slot), DeliveryTracker::Claim::kDuplicate);
  EXPECT_EQ(tracker.RowArrived(stream, 9, 0, 3, &slot), DeliveryTracker::Claim::kUnwanted);
}

TEST(Delivery, OneBadCopyOfTheDataDoesNotStopTheJob) {
  ByHand world(3);
  for (uint64_t row = 0; row < 8; ++row) {
    world.Answer("w0", row, absl::FailedPreconditionError("/data/train-00000 has changed"));
  }
  EXPECT_FALSE(world.tracker->head_complete());
  EXPECT_EQ(world.fetched["w1"] + world.fetched["w2"], 8u);
  EXPECT_EQ(world.fetched["w0"], 0u);
  const std::string missing = world.tracker->DescribeMissing();
  EXPECT_NE(missing.find("worker w0: /data/train-00000 has changed"), std::string::npos) << missing;
  for (uint64_t row = 0; row < 8; ++row) {
    DeliveryTracker::Slot slot;
    const std::string& by = world.fetched["w1"] == 8 ? "w1" : row % 2 == 0 ? "w1" : "w2";
    ASSERT_EQ(world.tracker->RowArrived(world.stream.at(by), 0, row, world.now, &slot), DeliveryTracker::Claim::kYours);
    world.tracker->Filled(slot, world.stream.at(by));
  }
  ASSERT_TRUE(world.tracker->head_complete());
  EXPECT_TRUE(world.tracker->head_failure().ok());
}

TEST(Delivery, ContentThatEveryWorkerRejectsIsTheRowsOutcome) {
  ByHand world(3);
  for (uint64_t row = 1; row < 8; ++row) world.Answer("w0", row, absl::OkStatus());
  world.Answer("w0", 0, absl::FailedPreconditionError("worker w0: /data/train-00000 has changed"));
  const std::string second = world.fetched["w1"] == 1 ? "w1" : "w2", third = second == "w1" ? "w2" : "w1";
  world.Answer(second, 0, absl::FailedPreconditionError("mine neither"));
  EXPECT_EQ(world.fetched[third], 1u);
  EXPECT_FALSE(world.tracker->head_complete());
  world.Answer(third, 0, absl::FailedPreconditionError("mine neither"));
  ASSERT_TRUE(world.tracker->head_complete());
  EXPECT_EQ(world.tracker->head_failure().code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(world.tracker->head_failure().message());
  EXPECT_NE(message.find("train-00000"), std::string::npos) << message;
  EXPECT_NE(message.find("2 other workers"), std::string::npos) << message;
}

TEST(Delivery, ARejectedRowFailsOnlyAfterAWaitForAnUnreachableWorker) {
  ByHand world(2);
  for (uint64_t row = 1; row < 8; ++row) world.Answer("w0", row, absl::OkStatus());
  // The tracker asks w1, whose stream breaks. Its address then refuses connections.
  world.Answer("w0", 0, absl::FailedPreconditionError("bad copy"));
  ASSERT_EQ(world.fetched["w1"], 1u);
  const auto refuse = [&] {
    for (const Command& command : world.tracker->TakeCommands()) {
      if (const auto* open = std::get_if<OpenStream>(&command)) {
        world.tracker->StreamBroken(open->stream, absl::UnavailableError("refused"), world.now);
      }
    }
  };
  world.tracker->StreamBroken(world.stream["w1"], absl::UnavailableError("reset"), world.now);
  for (int i = 0; i < 40; ++i) {
    refuse();
    EXPECT_FALSE(world.tracker->head_complete());
    world.now += 100 * kMillisecond;
    world.tracker->Tick(world.now);
  }
  for (int i = 0; i < 20; ++i) {
    refuse();
    world.now += 100 * kMillisecond;
    world.tracker->Tick(world.now);
  }
  ASSERT_TRUE(world.tracker->head_complete());
  EXPECT_EQ(world.tracker->head_failure().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Delivery, NamesTheMissingFileItsWorkersAndTheNextAttempt) {
  ByHand world(2);
  for (uint64_t row = 0; row < 8; ++row) {
    world.Answer("w0", row, absl::UnavailableError("/data/train-00001 is gone (No such file or directory)"));
    world.Answer("w1", row, absl::UnavailableError("/data/train-00001: Input/output error"));
  }
  const std::string missing = world.tracker->DescribeMissing();
  EXPECT_NE(missing.find("lacks 8 of 8 rows"), std::string::npos) << missing;
  EXPECT_NE(missing.find("worker w0: /data/train-00001 is gone"), std::string::npos) << missing;
  EXPECT_NE(missing.find("worker w1: /data/train-00001: Input/output error"), std::string::npos) << missing;
  EXPECT_NE(missing.find("again each second"), std::string::npos) << missing;
}

TEST(Delivery, RequestsNoMoreRowsOfAWorkerThanItMayHold) {
  WorldOptions options;
  options.records = 120000;
  options.batch = 40000;
  options.window = 2;
  options.workers = 2;
  options.epochs = 1;
  World world(options);
  world.ChangeView(Upto(2));
  world.Hang(1);
  world.At(50 * kMillisecond, [&] { world.Kill(1); });
  ASSERT_EQ(world.Run(600 * kSecond), "");
  EXPECT_TRUE(world.finished());
  EXPECT_LE(world.most_fetched(), DeliveryTracker::kMaxFetches);
}

TEST(Delivery, ARejectionThatAViewCausesIsReported) {
  ByHand world(1);
  const uint64_t before = world.tracker->refusal_changes();
  world.tracker->StreamBroken(world.stream["w0"], absl::ResourceExhaustedError("no memory"), world.now);
  EXPECT_EQ(world.tracker->refusal_changes(), before + 1);
  EXPECT_FALSE(world.tracker->Refusal().ok());
  world.SetView(2, 2);  // another worker may serve
  EXPECT_EQ(world.tracker->refusal_changes(), before + 2);
  EXPECT_TRUE(world.tracker->Refusal().ok());
  world.SetView(1, 3);  // without it, no worker of the view serves
  EXPECT_EQ(world.tracker->refusal_changes(), before + 3);
  EXPECT_FALSE(world.tracker->Refusal().ok());
}

TEST(Delivery, AWorkerThatReturnsToTheViewHasNoEarlierFailures) {
  ByHand world(2);
  world.tracker->StreamBroken(world.stream["w0"], absl::UnavailableError("reset"), world.now);
  EXPECT_EQ(world.tracker->FailedWorkers(), std::vector<std::string>{"w0"});
  auto without = std::make_shared<plan::View>();
  without->n = 2;
  without->key_space = 32;
  without->workers = {{"w1", "host1:1"}};
  without->ranges = {{0, 32, 0, 0}};
  world.tracker->ViewChanged(without, world.now);
  world.SetView(2, 3);
  EXPECT_TRUE(world.tracker->FailedWorkers().empty());
  EXPECT_EQ(world.tracker->NextTick(world.now), world.now) << "the tracker tries w0 at once";
}

TEST(Pace, HasTheRateSinceATimeAndABestRateThatFades) {
  Pace pace;
  for (Nanos now = 0; now < 5 * kSecond; now += 10 * kMillisecond) pace.Row(now, 0);
  EXPECT_NEAR(pace.Rate(5 * kSecond, 4 * kSecond), 100, 2);
  EXPECT_NEAR(pace.Best(5 * kSecond), 100, 2);
  for (Nanos now = 5 * kSecond; now < 10 * kSecond; now += 100 * kMillisecond) pace.Row(now, 0);
  EXPECT_NEAR(pace.Rate(10 * kSecond, 0), 10, 1);
  EXPECT_NEAR(pace.Best(15 * kSecond), 50, 5);
  pace.Correct(10, 15 * kSecond);
  EXPECT_NEAR(pace.Best(15 * kSecond), 10, 1);
}

TEST(Pace, GapsCountOnlyTimeInWhichRowsWereOwed) {
  Pace pace;
  pace.Row(kSecond, kSecond - 20 * kMillisecond);
  pace.Row(60 * kSecond, 60 * kSecond - 30 * kMillisecond);  // requested after a minute without rows
  EXPECT_EQ(pace.gap(), 30 * kMillisecond);
  pace.Row(63 * kSecond, kSecond);
  EXPECT_EQ(pace.gap(), 3 * kSecond);
  for (int i = 1; i < 60; ++i) pace.Row(63 * kSecond + i * kMillisecond, kSecond);
  EXPECT_LT(pace.gap(), 10 * kMillisecond);
}

// The law: whatever happens, as long as one worker answers, the trainer gets every row of its slice once, in its slot
// and in order. World checks that at every step.
TEST(Delivery, SurvivesAnything) {
  uint64_t decided = 0, decided_alone = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed * 7919);
    WorldOptions options;
    options.seed = seed;
    options.records = 30 + random() % 200;
    options.batch = 12;
    options.world_size = std::vector<uint64_t>{1, 2, 3, 4}[random() % 4];
    options.rank = random() % options.world_size;
    options.last = random() % 2 == 0 ? plan::LastBatch::kDrop : plan::LastBatch::kPad;
    options.policy = random() % 2 == 0 ? plan::AssignPolicy::kByRecord : plan::AssignPolicy::kByRank;
    options.window = 2 + random() % 10;
    options.workers = 1 + static_cast<int>(random() % 6);
    options.row_delay = (1 + static_cast<Nanos>(random() % 60)) * kMillisecond;
    options.lose = random() % 2 == 0 ? 0 : 0.01;
    options.repeat = random() % 2 == 0 ? 0 : 0.1;
    options.fail = random() % 3 == 0 ? 0.02 : 0;
    options.break_stream = random() % 2 == 0 ? 0 : 0.01;
    options.damaged = random() % 2 == 0 ? 0 : 0.05;
    options.bad = random() % 2 == 0 ? 0 : 0.03;
    options.away = random() % 2 == 0 ? 0 : 0.5;
    for (uint64_t n = random() % 3, rows = 0; n > 0; --n) {
      rows += 1 + random() % (2 * options.records);
      options.batch_changes.push_back({rows, 12 * (1 + random() % 2)});
    }
    if (random() % 3 == 0) {
      const std::vector<uint64_t> rows = {options.records / 2, options.records - options.records / 2};
      options.batch_changes.clear();
      options.batches =
          std::make_shared<const plan::BatchSequence>(plan::BatchCut(rows, std::vector<uint64_t>{24, 12}, 12), seed);
    }
    World world(options);
    const auto some = [&random, &options] {  // worker 0, which never fails permanently, and some others
      std::vector<int> workers{0};
      for (int i = 1; i < options.workers; ++i) {
        if (random() % 3 != 0) workers.push_back(i);
      }
      return workers;
    };
    world.At(static_cast<Nanos>(random() % 50) * kMillisecond, [&] { world.ChangeView(some()); });
    for (int i = 0; i < 40; ++i) {
      const int worker = static_cast<int>(random() % options.workers);
      world.At(static_cast<Nanos>(random() % 4000) * kMillisecond, [&world, &some, worker, what = random() % 6] {
        switch (worker == 0 ? 5 : what) {
          case 0:
            return world.Kill(worker);
          case 1:
            return world.Hang(worker);
          case 2:
          case 3:
            return world.Revive(worker);
          case 4:
            return world.Drain(worker);
          default:
            return world.ChangeView(some());
        }
      });
    }
    ASSERT_EQ(world.Run(600 * kSecond), "") << "seed " << seed;
    ASSERT_TRUE(world.finished()) << "seed " << seed << ": " << world.tracker().DescribeMissing();
    decided += world.decided();
    decided_alone += world.decided_alone();
  }
  EXPECT_GT(decided, 100u);
  EXPECT_GT(decided_alone, 20u);
}

}  // namespace
}  // namespace penstock::client
