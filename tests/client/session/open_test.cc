#include "client/session/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/version.h"
#include "tests/client/fakes/sim_session.h"

namespace penstock::client {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(SessionOpener, WaitsForACoordinatorThatComesBack) {
  SimSession sim(1, 1);
  sim.coordinator->SetAway(true);
  sim.scheduler.PostAt(sim.now() + 7 * kSecond, [&] { sim.coordinator->SetAway(false); });
  EXPECT_TRUE(sim.Open(sim.options()).ok());
  EXPECT_GE(sim.now(), 7 * kSecond);
  EXPECT_LT(sim.now(), 8 * kSecond);
  EXPECT_EQ(sim.Read(kSecond), 12);
}

TEST(SessionOpener, WaitsForACoordinatorAsLongAsItMayAndNamesItAfterThreeSeconds) {
  for (const bool deaf : {false, true}) {
    SimSession sim(1, 1);
    deaf ? sim.coordinator->SetDeaf(true) : sim.coordinator->SetAway(true);
    std::vector<std::pair<Nanos, std::string>> told;
    ReaderOptions options = sim.options();
    options.on_wait = [&](const std::string& text) { told.emplace_back(sim.now(), text); };
    const absl::Status status = sim.Open(options, 600 * kSecond);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("is the coordinator running"));
    EXPECT_GT(sim.now(), 598 * kSecond);
    EXPECT_LT(sim.now(), 601 * kSecond);
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told[0].first, 3 * kSecond);
    EXPECT_THAT(told[0].second, AnyOf(HasSubstr("coordinator sim"), HasSubstr("the coordinator of a simulation")));
  }
}

TEST(SessionOpener, ReadsWhenTheCoordinatorAnswersAfterMinutes) {
  SimSession sim(1, 1);
  sim.coordinator->SetDeaf(true);
  sim.scheduler.PostAt(sim.now() + 400 * kSecond, [&] { sim.coordinator->SetDeaf(false); });
  EXPECT_TRUE(sim.Open(sim.options(), 600 * kSecond).ok());
  EXPECT_LT(sim.now(), 411 * kSecond);
  EXPECT_EQ(sim.Read(kSecond), 12);
}

TEST(SessionOpener, EndsInTimeAlsoWhenNobodyAnswers) {
  SimSession sim(1, 1);
  sim.coordinator->SetDeaf(true);
  EXPECT_EQ(sim.Open(sim.options(), 2 * kSecond).code(), absl::StatusCode::kUnavailable);
  EXPECT_LE(sim.now(), 2 * kSecond + 500 * kMillisecond);
}

TEST(SessionOpener, FollowsAJobInPreparationThroughAnOutage) {
  SimSession sim(1, 1);
  sim.coordinator->SetState(v1::PREPARING);
  sim.scheduler.PostAt(sim.now() + 20 * kSecond, [&] { sim.coordinator->SetAway(true); });
  sim.scheduler.PostAt(sim.now() + 50 * kSecond, [&] { sim.coordinator->SetState(v1::READY); });
  sim.scheduler.PostAt(sim.now() + 60 * kSecond, [&] { sim.coordinator->SetAway(false); });
  EXPECT_TRUE(sim.Open(sim.options(), 600 * kSecond).ok());
  EXPECT_LT(sim.now(), 66 * kSecond);
  EXPECT_EQ(sim.Read(kSecond), 12);
}

TEST(SessionOpener, WaitsForASessionAsLongAsItMayAndTellsWhatFor) {
  SimSession sim(1, 1);
  sim.coordinator->SetWait("job fake is being prepared");
  sim.scheduler.PostAt(sim.now() + 30 * kSecond, [&] { sim.coordinator->SetWait(""); });
  std::vector<std::string> told;
  ReaderOptions options = sim.options();
  options.on_wait = [&](const std::string& text) { told.push_back(text); };
  EXPECT_TRUE(sim.Open(options, 600 * kSecond).ok());
  EXPECT_LT(sim.now(), 31 * kSecond);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0], "waiting to open: job fake is being prepared");
  EXPECT_EQ(sim.Read(kSecond), 12);

  sim.coordinator->SetWait("job fake is being prepared");
  const absl::Status late = sim.Open(options, 20 * kSecond);
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(std::string(late.message()), "the coordinator of a simulation: job fake is being prepared");
}

TEST(SessionOpener, RejectsAViewWithAPolicyOfAnotherReleaseAndNamesBoth) {
  SimSession sim(1, 1);
  sim.coordinator->SetPolicy(77);
  const absl::Status status = sim.Open(sim.options());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has the assignment policy 77"));
  const std::string version(Version());
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the coordinator of a simulation is penstock " + version + ", and this client is penstock " +
                        version + ": upgrade this client"));
  EXPECT_EQ(sim.coordinator->open_sessions(), 0);
}

TEST(SessionOpener, AReaderGoesOnByItsViewWhenANewOneHasAPolicyOfAnotherRelease) {
  SimSession sim(1, 1);
  EXPECT_TRUE(sim.Open(sim.options()).ok());
  sim.coordinator->SetPolicy(77);
  EXPECT_EQ(sim.Read(kSecond), 12);
}

TEST(SessionOpener, SaysWhatItWaitedForAndClosesTheSession) {
  SimSession sim(1, 0);
  const absl::Status status = sim.Open(sim.options(), 12 * kSecond);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no worker serves it"));
  EXPECT_EQ(sim.coordinator->open_sessions(), 0);
}

}  // namespace
}  // namespace penstock::client
