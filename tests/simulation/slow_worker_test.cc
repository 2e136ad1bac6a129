// The cost of one slow worker, and changes that must move nothing.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/simulation/fleet.h"

namespace penstock::simulation {
namespace {

// Three workers of 440 rows/s make 1320 rows/s. Two of them and one of 88 make 968.
constexpr double kSlow = 88;

TEST(SlowWorker, TheFleetReachesTheRateOfItsWorkers) {
  Fleet fleet({});
  fleet.Run(10 * kSecond);
  EXPECT_GT(fleet.RateOver(20 * kSecond), 0.95 * 1320);
  EXPECT_EQ(fleet.wrong(), "");
}

TEST(SlowWorker, TheFleetReachesItsPossibleRateTenSecondsAfterAWorkerBecameSlow) {
  for (const int readers : {1, 3}) {
    for (const uint64_t batch : {32, 256}) {
      FleetOptions options;
      options.readers = readers;
      options.batch = batch;
      options.noise = 0.3;
      Fleet fleet(options);
      fleet.Run(30 * kSecond);
      fleet.SetRate(1, kSlow);
      fleet.Run(10 * kSecond);
      EXPECT_GT(fleet.RateOver(5 * kSecond), 0.85 * 968) << readers << " readers, steps of " << batch;
      EXPECT_GT(fleet.RateOver(60 * kSecond), 0.9 * 968) << readers << " readers, steps of " << batch;
      EXPECT_LT(fleet.ShareOf(1), 0.12);
      EXPECT_EQ(fleet.wrong(), "");
    }
  }
}

// Small and large steps, from the job's first row on and in the middle of the job.
TEST(SlowWorker, AWorkerStoppedForMostOfTheTimeCostsLittleFromTheThirdSecondOn) {
  for (const double rate : {440.0, 4000.0}) {
    for (const uint64_t batch : {8, 16, 32, 64, 256}) {
      if (rate > 1000 && batch < 32) continue;  // one tick of the simulation makes all rows of such a window
      for (const bool from_the_start : {true, false}) {
        FleetOptions options;
        options.batch = batch;
        options.rate = rate;
        options.noise = 0.3;
        Fleet fleet(options);
        if (!from_the_start) fleet.Run(10 * kSecond);
        fleet.SetStopped(1, true);
        fleet.Run(2 * kSecond);
        std::string rates;
        double sum = 0;
        for (int second = 0; second < 6; ++second) {
          const double part = fleet.RateOver(kSecond) / (2 * rate);
          absl::StrAppend(&rates, " ", part);
          sum += part;
        }
        EXPECT_GT(sum / 6, 0.85) << "steps of " << batch << " rows at " << rate << " rows/s, "
                                 << (from_the_start ? "from the start" : "in the middle") << ":" << rates;
        EXPECT_EQ(fleet.wrong(), "");
      }
    }
  }
}

TEST(SlowWorker, IsNotRemoved) {
  Fleet fleet({});
  fleet.Run(10 * kSecond);
  fleet.SetRate(1, kSlow);
  for (int i = 0; i < 60; ++i) {
    fleet.Run(kSecond);
    ASSERT_TRUE(fleet.IsLive(1));
    ASSERT_TRUE(fleet.tracker(0).FailedWorkers().empty());
  }
}

TEST(SlowWorker, LateRowsComeFromOtherWorkersWithoutACoordinator) {
  FleetOptions options;
  options.coordinator = false;
  Fleet fleet(options);
  fleet.Run(10 * kSecond);
  fleet.SetRate(1, kSlow);
  fleet.Run(10 * kSecond);
  EXPECT_GT(fleet.RateOver(20 * kSecond), 0.85 * 968);
}

TEST(SlowWorker, ARecoveredWorkerHasItsShareWithinThirtySeconds) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    FleetOptions options;
    options.seed = seed;
    options.noise = 0.3;
    Fleet fleet(options);
    fleet.Run(10 * kSecond);
    fleet.SetRate(1, kSlow);
    fleet.Run(60 * kSecond);
    fleet.SetRate(1, 440);
    fleet.Run(30 * kSecond);
    EXPECT_GT(fleet.ShareOf(1), 0.95 / 3) << "seed " << seed;
    EXPECT_GT(fleet.RateOver(10 * kSecond), 0.95 * 1320) << "seed " << seed;
  }
}

TEST(SlowWorker, AWorkerThatIsSlowAgainAndAgainRegainsItsShareLessAndLessOften) {
  Fleet fleet({});
  fleet.Run(10 * kSecond);
  const uint64_t before = fleet.view_number();
  for (int i = 0; i < 20; ++i) {
    fleet.SetRate(1, kSlow);
    fleet.Run(15 * kSecond);
    fleet.SetRate(1, 440);
    fleet.Run(15 * kSecond);
  }
  EXPECT_LT(fleet.view_number() - before, 20u) << "of 40 changes in 10 minutes";
}

TEST(SlowWorker, NoShareMovesWithASlowTrainer) {
  FleetOptions options;
  options.step_time = kSecond;
  options.noise = 0.5;
  Fleet fleet(options);
  fleet.Run(5 * kSecond);
  const uint64_t view = fleet.view_number();
  fleet.Run(150 * kSecond);
  fleet.SetRate(1, 200);  // still more than the trainer requests
  fleet.Run(450 * kSecond);
  EXPECT_EQ(fleet.view_number(), view);
  EXPECT_EQ(fleet.fetched_rows(), 0u);
}

TEST(SlowWorker, NoShareMovesWithASharedSlowLink) {
  FleetOptions options;
  options.link_rate = 300;
  options.outbox = 200;
  options.noise = 0.5;
  Fleet fleet(options);
  fleet.Run(5 * kSecond);
  const uint64_t view = fleet.view_number();
  fleet.Run(600 * kSecond);
  EXPECT_EQ(fleet.view_number(), view);
  EXPECT_EQ(fleet.fetched_rows(), 0u);
}

TEST(SlowWorker, NoShareMovesIfAllWorkersAreEquallySlow) {
  for (const uint64_t batch : {16, 256}) {
    FleetOptions options;
    options.batch = batch;
    options.noise = 0.9;
    Fleet fleet(options);
    fleet.Run(30 * kSecond);
    const uint64_t view = fleet.view_number();
    fleet.SetAllRates(20);
    fleet.Run(600 * kSecond);
    EXPECT_EQ(fleet.view_number(), view);
    EXPECT_LT(fleet.fetched_rows(), fleet.rows_taken() / 100) << "steps of " << batch;
  }
}

TEST(SlowWorker, AFleetOfUnequalWorkersFindsItsSharesByItself) {
  FleetOptions options;
  options.workers = 4;
  Fleet fleet(options);
  fleet.SetRate(0, 880);
  fleet.SetRate(3, 220);
  fleet.Run(30 * kSecond);
  EXPECT_GT(fleet.RateOver(20 * kSecond), 0.9 * (880 + 440 + 440 + 220));
}

TEST(LargeStep, IsNotFetchedAgainWhileItIsMade) {
  for (const Nanos first_row : {Nanos{0}, 3 * kSecond}) {
    FleetOptions options;
    options.workers = 2;
    options.rate = 200;
    options.batch = 24000;  // a minute
    options.records = 96000;
    options.window = 2;
    options.first_row = first_row;
    Fleet fleet(options);
    fleet.Run(150 * kSecond);
    EXPECT_GE(fleet.rows_taken(), 2 * options.batch);
    EXPECT_EQ(fleet.fetched_rows(), 0u) << "first row after " << first_row / kSecond << " s";
    EXPECT_EQ(fleet.duplicate_rows(), 0u);
  }
}

TEST(LargeStep, RowsThatTakeSecondsAreNotLate) {
  FleetOptions options;
  options.rate = 0.5;
  options.batch = 8;
  options.noise = 0.5;
  Fleet fleet(options);
  fleet.Run(720 * kSecond);
  EXPECT_GT(fleet.rows_taken(), 900u);
  // At first the time of a row is unknown, and early fetches delay granted rows.
  EXPECT_LT(fleet.fetched_rows(), fleet.rows_taken() / 10);
}

// A network hole of two seconds, and the length of the absence that it causes.
TEST(NetworkHole, OfTwoSecondsCostsAWorkerAtMostFiveSecondsOfAbsence) {
  Fleet fleet({});
  fleet.Run(10 * kSecond);
  for (int hole = 0; hole < 2; ++hole) {
    fleet.SetHole(1, true);
    fleet.Run(2 * kSecond);
    fleet.SetHole(1, false);
    Nanos out = 0;
    for (int i = 0; i < 300; ++i) {
      fleet.Run(100 * kMillisecond);
      if (!fleet.IsLive(1)) out += 100 * kMillisecond;
    }
    EXPECT_LE(out, 5 * kSecond) << "hole " << hole;
    EXPECT_GT(fleet.ShareOf(1), 0.25);
  }
}

TEST(NetworkHole, AWorkerWithManyHolesIsReadmittedMoreSlowlyWithinALimit) {
  Fleet fleet({});
  fleet.Run(10 * kSecond);
  Nanos longest = 0;
  for (int hole = 0; hole < 20; ++hole) {
    fleet.SetHole(1, true);
    fleet.Run(2500 * kMillisecond);
    fleet.SetHole(1, false);
    Nanos out = 0;
    while (!fleet.IsLive(1) && out < 200 * kSecond) {
      const v1::WorkerStatus status = fleet.StatusOf(1);
      if (status.state() == v1::WorkerStatus::SUSPECT) {
        EXPECT_NE(status.note().find("lost "), std::string::npos) << status.note();
      }
      fleet.Run(100 * kMillisecond);
      out += 100 * kMillisecond;
    }
    longest = std::max(longest, out);
    fleet.Run(2 * kSecond);
  }
  EXPECT_GT(longest, 20 * kSecond);
  EXPECT_LT(longest, 65 * kSecond);
}

}  // namespace
}  // namespace penstock::simulation
