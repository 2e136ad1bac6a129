#include "pipeline/tuning/tuning_controller.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/pipeline/tuning/simulated_machine.h"

namespace penstock::tuning {
namespace {

constexpr double kWindowSeconds = static_cast<double>(TuningController::kWindow) / kSecond;

// A controller that observes a machine, window after window.
class Tuned {
 public:
  explicit Tuned(const SimulatedMachine& machine, uint64_t seed = 1) : Tuned(machine, seed, LimitsOf(machine)) {}
  Tuned(const SimulatedMachine& machine, uint64_t seed, const TuningLimits& limits)
      : machine_(machine), random_(seed), controller_(limits, {limits.most_threads, 0}) {}

  void Run(double seconds) {
    for (const Nanos end = now_ + static_cast<Nanos>(seconds * kSecond); now_ < end;) {
      const TuningSetting before = controller_.setting();
      now_ += TuningController::kWindow;
      const TuningSetting after = controller_.Step(machine_.Window(before, kWindowSeconds, &random_), now_);
      changes_ += after == before ? 0 : 1;
      EXPECT_FALSE(after.threads != before.threads && after.read_threads != before.read_threads)
          << "two knobs moved at once";
      EXPECT_GE(after.threads, 1);
      EXPECT_LE(after.threads, machine_.cpus);
      rows_ += machine_.With(before).rate * kWindowSeconds;
      if (auto news = controller_.TakeNews()) news_.push_back(*news);
    }
  }
  // The rate with the current setting, as a part of the best rate of any setting.
  double Reached() const { return machine_.With(controller_.setting()).rate / machine_.Best(); }
  double RowsOf(double seconds) {
    rows_ = 0;
    Run(seconds);
    return rows_ / seconds / machine_.Best();
  }
  const TuningSetting& setting() const { return controller_.setting(); }
  int changes() const { return changes_; }
  const std::vector<std::string>& news() const { return news_; }
  SimulatedMachine& machine() { return machine_; }

  static TuningLimits LimitsOf(const SimulatedMachine& machine) {
    TuningLimits limits;
    limits.most_threads = limits.host_cpus = machine.cpus;
    return limits;
  }

 private:
  SimulatedMachine machine_;
  std::mt19937_64 random_;
  TuningController controller_;
  Nanos now_ = 0;
  int changes_ = 0;
  double rows_ = 0;
  std::vector<std::string> news_;
};

std::string Text(const SimulatedMachine& m) {
  return absl::StrCat("cpus ", m.cpus, ", row ", m.row, ", latency ", m.latency, m.objects ? ", objects" : "",
                      ", most reads ", m.most_reads, ", trainer ", m.trainer, ", trainer's CPU ", m.trainer_cpu,
                      ", others ", m.others, ", noise ", m.noise);
}

SimulatedMachine AnyMachine(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<>(0, 1)(random));
  };
  const auto one_of = [&](int n) { return std::uniform_int_distribution<>(1, n)(random) == 1; };
  SimulatedMachine machine;
  machine.cpus = static_cast<int>(between(2, 17));
  machine.row = between(2e-4, 5e-3);
  machine.latency = one_of(2) ? between(5e-6, 30e-6) : between(1e-3, 40e-3);
  machine.objects = machine.latency > 1e-3 && one_of(3);
  if (one_of(4)) machine.most_reads = between(100, 20000);
  const double could = machine.cpus / machine.row;
  if (one_of(3)) machine.trainer = between(0.2, 5) / could;
  if (one_of(3)) machine.trainer_cpu = between(0.3, 6) / could;
  if (one_of(6)) machine.others = between(0.5, 2 * machine.cpus);
  machine.noise = between(0.002, 0.02);
  return machine;
}

TEST(TuningController, TenSecondsAreEnoughForNearlyTheBestRate) {
  constexpr int kMachines = 1000;
  int below = 0;
  for (uint64_t seed = 0; seed < kMachines; ++seed) {
    const SimulatedMachine machine = AnyMachine(seed);
    Tuned tuned(machine, seed);
    tuned.Run(10);
    below += tuned.Reached() < 0.95 ? 1 : 0;
    // The controller makes one move at a time: it stays if only two moves together help.
    EXPECT_GE(tuned.Reached(), 0.85) << "seed " << seed << ": " << Text(machine) << "; threads "
                                     << tuned.setting().threads << ", read threads " << tuned.setting().read_threads;
  }
  EXPECT_LE(below, kMachines / 100);
}

TEST(TuningController, FindsLargeGainsDespiteNoise) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SimulatedMachine machine = AnyMachine(seed);
    machine.noise = 0.06;
    Tuned tuned(machine, seed);
    tuned.Run(30);
    EXPECT_GE(tuned.Reached(), 0.85) << "seed " << seed << ": " << Text(machine) << "; threads "
                                     << tuned.setting().threads << ", read threads " << tuned.setting().read_threads;
  }
}

TEST(TuningController, TrialsCostLittleAndBecomeRare) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const SimulatedMachine machine = AnyMachine(seed);
    Tuned tuned(machine, seed);
    tuned.Run(60);
    EXPECT_GE(tuned.RowsOf(600), 0.94) << "seed " << seed << ": " << Text(machine) << "; threads "
                                       << tuned.setting().threads << ", read threads " << tuned.setting().read_threads;
    const int changes = tuned.changes();
    tuned.Run(3600);
    // The controller tries and reverts each of four moves at most every 640 s.
    EXPECT_LE(tuned.changes() - changes, 4 * 2 * 8) << "seed " << seed << ": " << Text(machine);
  }
}

TEST(TuningController, ChangesNothingWithNearFilesAndOwnCpus) {
  SimulatedMachine machine;
  machine.cpus = 4;
  machine.noise = 0.02;
  Tuned tuned(machine);
  tuned.Run(3600);
  EXPECT_EQ(tuned.changes(), 0);
}

TEST(TuningController, ChangesNothingWhileTrainersHaveEnoughRows) {
  SimulatedMachine machine;
  machine.latency = 20e-3;
  machine.trainer = 50e-3;
  Tuned tuned(machine);
  tuned.Run(600);
  EXPECT_EQ(tuned.changes(), 0);
}

TEST(TuningController, SlowReadsGetThreadsWithinASecond) {
  SimulatedMachine machine;
  machine.latency = 20e-3;
  machine.noise = 0.02;
  Tuned tuned(machine);
  tuned.Run(1);
  EXPECT_GE(tuned.Reached(), 0.95);
  tuned.Run(5);
  ASSERT_EQ(tuned.news().size(), 1u);
  EXPECT_NE(tuned.news()[0].find("; reads take 20 ms"), std::string::npos) << tuned.news()[0];
}

TEST(TuningController, ObjectsGetEnoughRequestsInFlightAndNoReadThreads) {
  SimulatedMachine machine;
  machine.objects = true;
  machine.latency = 80e-3;  // the initial 64 requests make 800 rows/s, the CPUs 1940
  machine.noise = 0.02;
  Tuned tuned(machine);
  tuned.Run(10);
  EXPECT_GE(tuned.Reached(), 0.95);
  EXPECT_EQ(tuned.setting().read_threads, 0);
  ASSERT_GE(tuned.news().size(), 1u);
  EXPECT_NE(tuned.news()[0].find("requests at once 64 -> "), std::string::npos) << tuned.news()[0];
  const int changes = tuned.changes();
  tuned.Run(600);
  EXPECT_EQ(tuned.changes(), changes);
}

TEST(TuningController, ReadThreadsThatDoNotPayAreRemoved) {
  SimulatedMachine machine;
  machine.latency = 20e-3;
  machine.most_reads = 90;  // two threads already reach it
  Tuned tuned(machine);
  tuned.Run(600);
  EXPECT_EQ(tuned.setting().read_threads, 0);
  EXPECT_LE(tuned.changes(), 12);
}

TEST(TuningController, ReadThreadsAreRemovedWhenFilesAreNearAgain) {
  SimulatedMachine machine;
  machine.latency = 20e-3;
  Tuned tuned(machine);
  tuned.Run(5);
  ASSERT_GT(tuned.setting().read_threads, 0);
  tuned.machine().latency = 10e-6;
  tuned.machine().Forget();
  tuned.Run(60);
  EXPECT_EQ(tuned.setting().read_threads, 0);
}

TEST(TuningController, ATrainerThatNeedsACpuOfTheHostGetsOne) {
  SimulatedMachine machine;
  machine.trainer_cpu = 1e-3;  // as much as the loader needs per row
  machine.noise = 0.01;
  Tuned tuned(machine);
  ASSERT_LT(tuned.Reached(), 0.9);
  tuned.Run(10);
  EXPECT_EQ(tuned.setting().threads, 1);
  EXPECT_GE(tuned.Reached(), 0.99);
  // The controller takes the CPU back when the trainer no longer needs it.
  tuned.machine().trainer_cpu = 0;
  tuned.machine().Forget();
  tuned.Run(10);
  EXPECT_EQ(tuned.setting().threads, 2);
}

TEST(TuningController, ThreadsReturnWithinTenSecondsAfterOthersReleaseTheCpus) {
  for (const double stays : {2.5, 3.0, 3.5, 4.0, 20.0, 60.0}) {
    SimulatedMachine machine;
    machine.trainer_cpu = 1e-3;
    machine.noise = 0.01;
    Tuned tuned(machine);
    tuned.Run(stays);  // the first trial is under way, or long over
    tuned.machine().trainer_cpu = 0;
    tuned.machine().Forget();
    tuned.Run(10);
    EXPECT_EQ(tuned.setting().threads, 2) << "after " << stays << " s";
  }
}

TEST(TuningController, AShortLoadOfOtherProcessesRemovesNoThread) {
  SimulatedMachine machine;
  TuningLimits limits;
  limits.most_threads = limits.host_cpus = 2;
  TuningController controller(limits, {2, 0});
  std::mt19937_64 random(1);
  for (int windows = 1; windows < 100; ++windows) {
    machine.others = windows % 5 == 0 ? 0.6 : 0;
    machine.Forget();
    controller.Step(machine.Window(controller.setting(), kWindowSeconds, &random), windows * TuningController::kWindow);
    EXPECT_EQ(controller.setting().threads, 2) << "window " << windows;
  }
}

TEST(TuningController, ATrainerThatYieldsToTheLoaderIsFoundByItsCpuTime) {
  SimulatedMachine machine;
  machine.trainer_cpu = 1e-3;
  TuningLimits limits;
  limits.most_threads = limits.host_cpus = 2;
  TuningController controller(limits, {2, 0});
  std::mt19937_64 random(1);
  Nanos now = 0;
  for (int windows = 0; windows < 20; ++windows) {
    TuningWindow window = machine.Window(controller.setting(), kWindowSeconds, &random);
    window.cpu_seconds = window.busy_seconds;  // the loader's threads always have a CPU
    now += TuningController::kWindow;
    controller.Step(window, now);
  }
  EXPECT_EQ(controller.setting().threads, 1);
}

// As measured: 2 CPUs, and a trainer that needs one of them for 55 ms per batch of 64.
TEST(TuningController, ATrainerThatNeedsACpuGetsOneDespiteAScatteredRate) {
  TuningLimits limits;
  limits.most_threads = limits.host_cpus = 2;
  TuningController controller(limits, {2, 0});
  Nanos now = 0;
  const auto window = [&](double rate, double others, double busy, double cpu, double unrequested) {
    TuningWindow seen;
    seen.seconds = kWindowSeconds;
    seen.rows = rate * kWindowSeconds;
    seen.other_seconds = others * kWindowSeconds;
    seen.busy_seconds = busy;
    seen.cpu_seconds = cpu;
    seen.unrequested_seconds = unrequested;
    now += TuningController::kWindow;
    return controller.Step(seen, now).threads;
  };
  window(0, 0.34, 0, 0, 0);
  window(1069, 0.68, 0.64, 0.44, 0);
  window(1337, 0.91, 0.97, 0.54, 0);
  window(1145, 0.78, 0.70, 0.47, 0.27);
  window(726, 0.92, 0.51, 0.29, 0.48);
  window(915, 0.85, 0.61, 0.38, 0.37);
  ASSERT_EQ(controller.setting().threads, 1) << "the trial runs";
  for (const double rate : {1151.0, 1071.0, 1089.0, 1013.0, 1101.0, 1080.0}) window(rate, 1.03, 0.49, 0.47, 0);
  EXPECT_EQ(controller.setting().threads, 1) << "a gain of 0.05 is hidden in a scatter of 0.25";
}

TEST(TuningController, AReaderThatComesOrGoesDoesNotDiscreditASetting) {
  // Threads lack some CPU, but all rows come from them. The controller notices at once if there are too few of them,
  // even if a window before the trial had no reader.
  SimulatedMachine machine;
  machine.others = 1;
  TuningLimits limits;
  limits.most_threads = limits.host_cpus = 2;
  TuningController controller(limits, {2, 0});
  std::mt19937_64 random(1);
  Nanos now = 0;
  int fewer = 0, windows = 0;
  for (; windows < 30; ++windows) {
    TuningWindow window = machine.Window(controller.setting(), kWindowSeconds, &random);
    if (windows == 2) window.rows *= 0.1;
    fewer += controller.setting().threads == 1 ? 1 : 0;
    now += TuningController::kWindow;
    controller.Step(window, now);
  }
  EXPECT_EQ(fewer, 1);
}

TEST(TuningController, PinnedSettingsNeverChange) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const SimulatedMachine machine = AnyMachine(seed);
    for (const bool threads : {false, true}) {
      TuningLimits limits = Tuned::LimitsOf(machine);
      (threads ? limits.threads_pinned : limits.read_threads_pinned) = true;
      Tuned tuned(machine, seed, limits);
      for (int i = 0; i < 60; ++i) {
        tuned.Run(1);
        if (threads) {
          EXPECT_EQ(tuned.setting().threads, machine.cpus);
        } else {
          EXPECT_EQ(tuned.setting().read_threads, 0);
          EXPECT_EQ(tuned.setting().requests, 64);
        }
      }
    }
  }
}

TEST(TuningController, APauseOfAllTrainersEndsATrialAndIsNotMeasured) {
  SimulatedMachine machine;
  machine.latency = 20e-3;
  std::mt19937_64 random(1);
  TuningLimits limits;
  limits.most_threads = 2;
  TuningController controller(limits, {2, 0});
  Nanos now = 0;
  const auto step = [&](const TuningWindow& window) {
    now += TuningController::kWindow;
    return controller.Step(window, now);
  };
  TuningWindow pause;
  pause.seconds = kWindowSeconds;
  pause.unrequested_seconds = 2 * kWindowSeconds;
  const TuningSetting tried = step(machine.Window({2, 0}, kWindowSeconds, &random));
  ASSERT_GT(tried.read_threads, 0);
  EXPECT_EQ(step(pause), (TuningSetting{2, 0}));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(step(pause), (TuningSetting{2, 0}));
  // The controller starts again when there is work.
  step(machine.Window({2, 0}, kWindowSeconds, &random));
  EXPECT_EQ(step(machine.Window({2, 0}, kWindowSeconds, &random)), tried);
}

}  // namespace
}  // namespace penstock::tuning
