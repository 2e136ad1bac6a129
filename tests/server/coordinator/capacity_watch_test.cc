#include "server/coordinator/state/capacity_watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace penstock::coordinator {
namespace {

using Capacities = std::map<std::string, double>;

// Workers whose capacities change as the coordinator would change them.
class Watched {
 public:
  explicit Watched(int workers) {
    for (int i = 0; i < workers; ++i) fleet.push_back({"w" + std::to_string(i), 4, 0, 440, 1});
  }
  // Returns how often the shares changed.
  int Pass(Nanos length) {
    int changes = 0;
    for (Nanos passed = 0; passed < length; passed += kSecond / 4) {
      now_ += kSecond / 4;
      const Capacities capacities = watch_.Look(now_, fleet);
      changes += capacities.empty() ? 0 : 1;
      for (CapacityWatch::Worker& worker : fleet) {
        if (capacities.count(worker.id) > 0) worker.used = capacities.at(worker.id);
      }
    }
    return changes;
  }
  double ShareOf(size_t worker) const {
    double sum = 0, threads = 0, known = 0;
    for (const auto& w : fleet) {
      known += w.used;
      threads += w.used > 0 ? w.threads : 0;
    }
    const auto used = [&](const CapacityWatch::Worker& w) {
      return w.used > 0 ? w.used : (threads > 0 ? known / threads : 1) * w.threads;
    };
    for (const auto& w : fleet) sum += used(w);
    return used(fleet[worker]) / sum;
  }

  std::vector<CapacityWatch::Worker> fleet;

 private:
  CapacityWatch watch_{CapacityOptions()};
  Nanos now_ = 0;
};

TEST(CapacityWatch, CutsASaturatedSlowWorkerWithinThreeSeconds) {
  Watched watched(3);
  EXPECT_EQ(watched.Pass(60 * kSecond), 0);
  watched.fleet[1].measured = 88;
  EXPECT_EQ(watched.Pass(3 * kSecond), 1);
  EXPECT_NEAR(watched.ShareOf(1), 88.0 / 968, 0.005);
  EXPECT_EQ(watched.Pass(600 * kSecond), 0);
}

TEST(CapacityWatch, CutsTheSlowOneOfTwoWorkers) {
  Watched watched(2);
  watched.fleet[0].measured = 88;
  watched.Pass(3 * kSecond);
  EXPECT_NEAR(watched.ShareOf(0), 1.0 / 6, 0.005);
}

TEST(CapacityWatch, DoesNotCutAWorkerThatNoTrainerWaitsFor) {
  Watched watched(3);
  for (auto& worker : watched.fleet) worker.owing = 0.4;
  watched.fleet[1].measured = 88;
  EXPECT_EQ(watched.Pass(600 * kSecond), 0);
}

TEST(CapacityWatch, NoiseChangesNoShare) {
  std::mt19937_64 random(7);
  Watched watched(20);
  for (int i = 0; i < 600; ++i) {
    for (auto& worker : watched.fleet) {
      worker.measured = 440 * (1 + 0.2 * std::uniform_real_distribution<double>(-1, 1)(random));
    }
    if (i % 10 == 0) watched.fleet[static_cast<size_t>(i / 10) % 20].measured = 44;  // one bad second
    EXPECT_EQ(watched.Pass(kSecond), 0);
  }
}

TEST(CapacityWatch, RestoresAShareMoreSlowlyAfterEachWrongCut) {
  Watched watched(3);
  std::vector<int> seconds;
  for (int round = 0; round < 6; ++round) {
    watched.fleet[1].measured = 88;
    watched.Pass(5 * kSecond);
    watched.fleet[1].measured = 440;
    int waited = 0;
    while (watched.Pass(kSecond) == 0 && waited < 1000) ++waited;
    seconds.push_back(waited);
    EXPECT_GT(watched.ShareOf(1), 0.95 / 3);
  }
  EXPECT_LE(seconds[0], 6);
  for (size_t i = 1; i < seconds.size(); ++i) EXPECT_GT(seconds[i], seconds[i - 1] * 3 / 2);
  // After this time the watch forgets earlier errors.
  watched.Pass(301 * kSecond);
  watched.fleet[1].measured = 88;
  watched.Pass(5 * kSecond);
  watched.fleet[1].measured = 440;
  watched.Pass(7 * kSecond);
  EXPECT_GT(watched.ShareOf(1), 0.95 / 3);
}

TEST(CapacityWatch, ProbesAWorkerWhoseShareIsTooSmallToMeasure) {
  Watched watched(3);
  watched.fleet[1].measured = 1;
  watched.Pass(5 * kSecond);
  EXPECT_NEAR(watched.ShareOf(1), 0.05 / 3, 0.005) << "the share is never 0";
  watched.fleet[1].owing = 0;  // without rows to make, the last measurement stays
  watched.Pass(15 * kSecond);
  EXPECT_LT(watched.ShareOf(1), 0.05);
  watched.Pass(6 * kSecond);
  EXPECT_GT(watched.ShareOf(1), 0.1);
  watched.fleet[1].owing = 1;
  watched.Pass(5 * kSecond);
  EXPECT_LT(watched.ShareOf(1), 0.05) << "the worker is as slow as before";
}

TEST(CapacityWatch, UnmeasuredWorkersAreRatedByTheirThreads) {
  Watched watched(3);
  watched.fleet[2].measured = 0;
  watched.fleet[2].threads = 8;
  watched.fleet[1].measured = 88;
  watched.Pass(3 * kSecond);
  EXPECT_GT(watched.ShareOf(2), watched.ShareOf(1));
}

TEST(CapacityWatch, InvalidMeasurementsDoNoHarm) {
  Watched watched(3);
  for (const double bad : {std::nan(""), -1.0, std::numeric_limits<double>::infinity(), 1e300}) {
    watched.fleet[1].measured = bad;
    watched.fleet[1].owing = bad;
    EXPECT_EQ(watched.Pass(60 * kSecond), 0);
  }
  Watched alone(1);
  alone.fleet[0].measured = 1;
  EXPECT_EQ(alone.Pass(60 * kSecond), 0);
  EXPECT_EQ(Watched(0).Pass(60 * kSecond), 0);
}

}  // namespace
}  // namespace penstock::coordinator
