// Rows of records whose copies are damaged: which workers the tracker asks, and when it decides that the record is bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/delivery/by_hand.h"

namespace penstock::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Fills every row except row 0, and reports a damaged copy of record 0.
void RefuseRow0(ByHand* world, const std::string& worker = "w0") {
  for (uint64_t row = 1; row < 8; ++row) world->Answer(worker, row, absl::OkStatus());
  world->Damaged(worker, 0, 0);
}

TEST(DamagedRows, AreFetchedFromAWorkerWithAnIntactCopy) {
  ByHand world(2);
  RefuseRow0(&world);
  ASSERT_EQ(world.fetches.size(), 1u);
  EXPECT_EQ(world.fetches[0].worker, "w1");
  EXPECT_THAT(world.fetches[0].rows, ElementsAre(0));
  EXPECT_THAT(world.fetches[0].decided, IsEmpty());
  EXPECT_TRUE(world.Content("w1", 0));
  EXPECT_TRUE(world.tracker->head_complete());
  EXPECT_TRUE(world.tracker->head_failure().ok());
  EXPECT_THAT(world.asked, IsEmpty());
  // The damaged copy does not count as the worker's failure.
  EXPECT_THAT(world.tracker->FailedWorkers(), IsEmpty());
}

TEST(DamagedRows, WaitForOneDecisionWhenEveryCopyIsDamaged) {
  ByHand world(2);
  RefuseRow0(&world);
  EXPECT_THAT(world.asked, IsEmpty()) << "the client requests the row from w1 first";
  world.Damaged("w1", 0, 0);
  EXPECT_THAT(world.asked, ElementsAre(0));
  EXPECT_FALSE(world.tracker->head_complete());
  // The tracker sends nothing more until the decision, even while the trainer waits.
  world.tracker->TrainerWaits(world.now);
  world.CarryOut();
  const int before = world.commands;
  world.Pass(120 * kSecond);
  EXPECT_EQ(world.commands, before);
  EXPECT_THAT(world.tracker->DescribeMissing(), HasSubstr("record 0: every reachable copy is damaged (record 0: wrong "
                                                          "CRC); waiting for the coordinator's decision"));
  world.tracker->Decided({0, 30}, world.now);
  world.CarryOut();
  ASSERT_EQ(world.fetches.size(), 2u);
  EXPECT_THAT(world.fetches[1].rows, ElementsAre(0));
  EXPECT_THAT(world.fetches[1].decided, ElementsAre(0));
  world.Answer(world.fetches[1].worker, 0, absl::OkStatus());  // the row is masked
  EXPECT_TRUE(world.tracker->head_complete());
  EXPECT_THAT(world.stored, IsEmpty());
}

TEST(DamagedRows, AskEachWorkerOnceForARecordThatSeveralRowsNeed) {
  ByHand world(3);
  // Record 20 replaces the records of these rows.
  world.tracker->Decided({2, 3}, world.now);
  world.Damaged("w0", 2, 20);
  const std::string second = world.fetches.back().worker;
  EXPECT_THAT(world.fetches.back().decided, ElementsAre(2));
  world.Damaged(second, 2, 20);
  const std::string third = world.fetches.back().worker;
  world.Damaged(third, 2, 20);
  EXPECT_THAT(world.asked, ElementsAre(20));
  world.Damaged("w0", 3, 20);
  EXPECT_EQ(world.fetches.size(), 2u) << "every worker is known to have a damaged copy";
  EXPECT_THAT(world.asked, ElementsAre(20));
  world.tracker->Decided({20}, world.now);
  world.CarryOut();
  ASSERT_GE(world.fetches.size(), 3u);
  std::set<uint64_t> rows, decided;
  for (size_t i = 2; i < world.fetches.size(); ++i) {
    rows.insert(world.fetches[i].rows.begin(), world.fetches[i].rows.end());
    decided.insert(world.fetches[i].decided.begin(), world.fetches[i].decided.end());
  }
  EXPECT_THAT(rows, ElementsAre(2, 3));
  EXPECT_THAT(decided, ElementsAre(2, 3, 20));
}

TEST(DamagedRows, AskAllWorkersAgainLaterIfACopyIsIntact) {
  ByHand world(2);
  RefuseRow0(&world);
  world.Damaged("w1", 0, 0);
  world.tracker->Intact({0}, world.now);
  world.CarryOut();
  EXPECT_EQ(world.fetches.size(), 1u);
  world.Pass(900 * kMillisecond);
  EXPECT_EQ(world.fetches.size(), 1u);
  world.Pass(200 * kMillisecond);
  ASSERT_EQ(world.fetches.size(), 2u);
  // The second round fails too: the tracker asks each worker once more, then the coordinator.
  const std::string first = world.fetches[1].worker;
  world.Damaged(first, 0, 0);
  ASSERT_EQ(world.fetches.size(), 3u);
  EXPECT_NE(world.fetches[2].worker, first);
  world.Damaged(world.fetches[2].worker, 0, 0);
  EXPECT_EQ(world.fetches.size(), 3u);
  EXPECT_THAT(world.asked, ElementsAre(0, 0));
  // The next round finds the intact copy.
  world.tracker->Intact({0}, world.now);
  world.Pass(1100 * kMillisecond);
  ASSERT_EQ(world.fetches.size(), 4u);
  EXPECT_TRUE(world.Content(world.fetches[3].worker, 0));
  EXPECT_TRUE(world.tracker->head_complete());
}

TEST(DamagedRows, AreDecidedAtOnceIfTheCoordinatorIsAwayAndEachWorkerHasAnswered) {
  ByHand world(2);
  RefuseRow0(&world);
  world.CoordinatorAwayForLong();
  world.Pass(60 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty()) << "w1 has not answered";
  EXPECT_EQ(world.fetches.size(), 1u);
  world.Damaged("w1", 0, 0);
  EXPECT_THAT(world.asked, ElementsAre(0));
  world.Pass(100 * kMillisecond);
  ASSERT_EQ(world.stored.size(), 1u);
  EXPECT_EQ(world.stored.at(0), "record 0: wrong CRC");
  ASSERT_EQ(world.fetches.size(), 2u);
  EXPECT_THAT(world.fetches[1].decided, ElementsAre(0));
  // Later rows follow the decision: the tracker sends no request, and does not use content of the record.
  world.Answer(world.fetches[1].worker, 0, absl::OkStatus());
  world.tracker->StepTaken(world.now);
  world.CarryOut();
  world.Pass(60 * kSecond);
  EXPECT_EQ(world.stored.size(), 1u);
  EXPECT_EQ(world.fetches.size(), 2u);
}

TEST(DamagedRows, AreDecidedWhenTheCoordinatorProvesToBeAway) {
  ByHand world(1);
  RefuseRow0(&world);
  EXPECT_THAT(world.asked, ElementsAre(0));
  world.Pass(10 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty());
  world.CoordinatorAwayForLong();
  world.CarryOut();
  EXPECT_EQ(world.stored.size(), 1u);
  EXPECT_THAT(world.fetches.back().decided, ElementsAre(0));
}

TEST(DamagedRows, WaitThirtySecondsForALostWorkerWhileTheCoordinatorIsAway) {
  ByHand world(3);
  world.Answer("w0", 7, absl::OkStatus());
  // Failures of w0 make the tracker open streams to the other workers.
  world.Answer("w0", 6, absl::UnavailableError("disk"));
  world.Answer(world.fetches.back().worker, 6, absl::UnavailableError("disk"));
  world.Answer(world.fetches.back().worker, 6, absl::OkStatus());
  world.Lose("w2");
  const Nanos lost = world.now;
  world.Pass(5 * kSecond);
  world.CoordinatorAwayForLong();
  for (uint64_t row = 1; row < 6; ++row) world.Answer("w0", row, absl::OkStatus());
  world.Damaged("w0", 0, 0);
  EXPECT_EQ(world.fetches.back().worker, "w1");
  world.Damaged("w1", 0, 0);
  EXPECT_THAT(world.asked, ElementsAre(0));
  const size_t fetches = world.fetches.size();
  world.Pass(lost + 30 * kSecond - 200 * kMillisecond - world.now);
  EXPECT_THAT(world.stored, IsEmpty());
  EXPECT_EQ(world.fetches.size(), fetches);
  EXPECT_THAT(world.tracker->DescribeMissing(),
              HasSubstr("the coordinator is away, waiting up to 30 s for worker w2, which was lost"));
  world.Pass(400 * kMillisecond);
  EXPECT_EQ(world.stored.size(), 1u);
  ASSERT_EQ(world.fetches.size(), fetches + 1);
  EXPECT_THAT(world.fetches.back().decided, ElementsAre(0));
}

TEST(DamagedRows, ComeFromALostWorkerThatReturnsWithAnIntactCopy) {
  ByHand world(2);
  RefuseRow0(&world);
  world.Lose("w1");  // the tracker had asked it
  EXPECT_THAT(world.asked, ElementsAre(0));
  world.CoordinatorAwayForLong();
  world.Pass(10 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty());
  world.Revive("w1");
  world.Pass(3 * kSecond);
  EXPECT_EQ(world.fetched["w1"], 2u);
  world.Pass(40 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty()) << "w1 is back, but has not answered";
  EXPECT_TRUE(world.Content("w1", 0));
  EXPECT_TRUE(world.tracker->head_complete());
  world.Pass(60 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty());
}

TEST(DamagedRows, DoNotWaitForAWorkerThatWasLostLongAgo) {
  ByHand world(2);
  for (uint64_t row = 1; row < 8; ++row) world.Answer("w0", row, absl::OkStatus());
  world.down.insert("w1");
  world.Answer("w0", 0, absl::UnavailableError("disk"));
  world.Pass(40 * kSecond);
  world.CoordinatorAwayForLong();
  world.Damaged("w0", 0, 0);
  world.Pass(100 * kMillisecond);
  EXPECT_EQ(world.stored.size(), 1u);
}

TEST(DamagedRows, DoNotWaitForAWorkerThatLeft) {
  ByHand world(2);
  RefuseRow0(&world);
  world.tracker->WorkerDrains(world.stream["w1"], world.now);
  world.tracker->StreamBroken(world.stream["w1"], absl::OkStatus(), world.now);
  world.CarryOut();
  EXPECT_THAT(world.asked, ElementsAre(0));
  world.CoordinatorAwayForLong();
  world.CarryOut();
  EXPECT_EQ(world.stored.size(), 1u);
}

TEST(DamagedRows, WaitThirtySecondsForAWorkerWhoseStorageFails) {
  ByHand world(2);
  const Nanos refused = world.now;
  RefuseRow0(&world);
  world.CoordinatorAwayForLong();
  world.Answer("w1", 0, absl::UnavailableError("/data: Input/output error"));
  EXPECT_THAT(world.asked, ElementsAre(0)) << "the coordinator asks w1, too";
  uint64_t answered = 1;
  while (world.now < refused + 30 * kSecond - 200 * kMillisecond) {
    world.Pass(100 * kMillisecond);
    EXPECT_THAT(world.stored, IsEmpty());
    if (world.fetched["w1"] == answered) continue;
    answered = world.fetched["w1"];
    EXPECT_THAT(world.tracker->DescribeMissing(), HasSubstr("worker w1, whose storage fails"));
    world.Answer("w1", 0, absl::UnavailableError("/data: Input/output error"));
  }
  EXPECT_GE(answered, 25u) << "the client asks each second";
  EXPECT_LE(answered, 31u);
  world.Pass(400 * kMillisecond);
  EXPECT_EQ(world.stored.size(), 1u);
}

TEST(DamagedRows, DoNotCountAWorkerWithoutTheFile) {
  for (const bool without_first : {false, true}) {
    ByHand world(2);
    for (uint64_t row = 1; row < 8; ++row) world.Answer("w0", row, absl::OkStatus());
    world.CoordinatorAwayForLong();
    if (without_first) {
      world.Answer("w0", 0, absl::FailedPreconditionError("not the snapshot's"));
      world.Damaged("w1", 0, 0);
    } else {
      world.Damaged("w0", 0, 0);
      world.Answer("w1", 0, absl::FailedPreconditionError("not the snapshot's"));
    }
    world.Pass(100 * kMillisecond);
    EXPECT_EQ(world.stored.size(), 1u);
    EXPECT_FALSE(world.tracker->head_complete());
    EXPECT_THAT(world.fetches.back().decided, ElementsAre(0));
  }
}

TEST(DamagedRows, AreNotDecidedIfNoWorkerCanBeReached) {
  ByHand world(1);
  RefuseRow0(&world);
  world.Lose("w0");
  world.CoordinatorAwayForLong();
  world.Pass(60 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty());
  EXPECT_THAT(world.fetches, IsEmpty());
  world.Revive("w0");
  world.Pass(3 * kSecond);
  EXPECT_EQ(world.stored.size(), 1u);
}

TEST(DamagedRows, AreDecidedByTheCoordinatorWhenTheLastWorkerIsSilent) {
  ByHand world(2);
  RefuseRow0(&world);
  world.tracker->TrainerWaits(world.now);
  EXPECT_THAT(world.asked, IsEmpty());
  world.Pass(5 * kSecond);
  EXPECT_THAT(world.asked, ElementsAre(0));
  EXPECT_EQ(world.fetched["w0"], 0u) << "its copy is damaged";
  EXPECT_LE(world.fetched["w1"], 4u);
  world.CoordinatorAwayForLong();
  world.Pass(20 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty());
  world.Pass(6 * kSecond);
  EXPECT_EQ(world.stored.size(), 1u);
}

TEST(DamagedRows, AskSixteenOfTwentyWorkersOnAsManyHostsAsPossible) {
  std::map<std::string, std::string> hosts;
  for (int i = 0; i < 16; ++i) hosts["w" + std::to_string(i)] = "big";
  ByHand world(20, 8, 4, hosts);
  RefuseRow0(&world);
  while (world.asked.empty()) world.Damaged(world.fetches.back().worker, 0, 0);
  EXPECT_EQ(world.fetches.size(), 15u);
  std::set<std::string> workers;
  for (const ByHand::Fetch& fetch : world.fetches) EXPECT_TRUE(workers.insert(fetch.worker).second);
  for (const char* alone : {"w16", "w17", "w18", "w19"}) EXPECT_EQ(workers.count(alone), 1u) << alone;
  // The remaining workers do not delay the rule, and the tracker does not ask them.
  world.CoordinatorAwayForLong();
  world.CarryOut();
  EXPECT_EQ(world.stored.size(), 1u);
  EXPECT_EQ(world.fetches.size(), 16u);
}

TEST(DamagedRows, ContentThatContradictsADecisionIsDroppedAndFetchedAgain) {
  ByHand world(2);
  world.tracker->Decided({3, 20}, world.now);
  for (const uint64_t row : {0, 1, 4, 5, 6, 7}) EXPECT_TRUE(world.Content("w0", row));
  EXPECT_FALSE(world.Content("w0", 3));
  EXPECT_THAT(world.fetches.back().rows, ElementsAre(3));
  EXPECT_THAT(world.fetches.back().decided, ElementsAre(3));
  // A substitute that was decided to be bad is rejected too.
  EXPECT_FALSE(world.Content("w0", 2, 20));
  EXPECT_THAT(world.fetches.back().rows, ElementsAre(2));
  EXPECT_THAT(world.fetches.back().decided, ElementsAre(20));
  EXPECT_TRUE(world.Content(world.fetches.back().worker, 2, 21));
  EXPECT_TRUE(world.Content(world.fetches.front().worker, 3, 21)) << "another record stands in";
  EXPECT_TRUE(world.tracker->head_complete());
}

TEST(DamagedRows, TheReaderWaitsForTheCoordinatorBeforeItDecides) {
  ByHand world(1);
  RefuseRow0(&world);
  world.tracker->CoordinatorAway(world.now);
  world.Pass(20 * kSecond);
  world.tracker->CoordinatorAway(world.now);
  EXPECT_THAT(world.tracker->DescribeMissing(), HasSubstr("waiting up to 30 s for the coordinator, which is away"));
  world.tracker->CoordinatorBack();
  world.Pass(60 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty()) << "the coordinator is back, and decides";
  world.tracker->CoordinatorAway(world.now);
  world.Pass(29 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty());
  world.Pass(2 * kSecond);
  EXPECT_EQ(world.stored.count(0), 1u);
}

TEST(DamagedRows, AStoppedReaderWaitsForTheCoordinatorAgainAfterItResumes) {
  ByHand world(1);
  RefuseRow0(&world);
  world.tracker->CoordinatorAway(world.now);
  world.Pass(kSecond);
  world.now += 60 * kSecond;
  world.tracker->Stopped(world.now);
  world.Pass(29 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty());
  world.Pass(2 * kSecond);
  EXPECT_EQ(world.stored.count(0), 1u);
}

// w0 finds no image in record 0. Its copy of the substitute, record 20, is damaged. w1 cannot read record 0, but has
// an intact record 20.
TEST(DamagedRows, ABadRecordIsReportedToOtherWorkersWhileItsSubstituteIsRead) {
  for (const bool w1_first : {false, true}) {
    ByHand world(2);
    for (uint64_t row = 1; row < 8; ++row) world.Answer("w0", row, absl::OkStatus());
    if (w1_first) {
      world.Answer("w0", 0, absl::UnavailableError("no memory"));
      world.Damaged("w1", 0, 0);
      EXPECT_EQ(world.fetches.back().worker, "w0");
    }
    world.Damaged("w0", 0, 20);
    ASSERT_EQ(world.fetches.back().worker, "w1");
    EXPECT_THAT(world.fetches.back().decided, ElementsAre(0));
    EXPECT_TRUE(world.Content("w1", 0, 20));
    EXPECT_TRUE(world.tracker->head_complete());
    EXPECT_THAT(world.asked, IsEmpty());
    EXPECT_THAT(world.stored, IsEmpty());
  }
}

TEST(DamagedRows, AWorkerThatDoesNotFollowDecisionsIsAskedOnceASecond) {
  ByHand world(1);
  world.tracker->Decided({0, 1}, world.now);
  for (uint64_t row = 2; row < 8; ++row) EXPECT_TRUE(world.Content("w0", row));
  EXPECT_FALSE(world.Content("w0", 0));
  world.Damaged("w0", 1, 1);
  size_t answered = 0;
  for (int i = 0; i < 100; ++i) {
    for (; answered < world.fetches.size(); ++answered) {
      for (const uint64_t row : std::vector<uint64_t>(world.fetches[answered].rows)) {
        if (row == 1) {
          world.Damaged("w0", row, 1);
        } else {
          EXPECT_FALSE(world.Content("w0", row));
        }
      }
    }
    world.Pass(100 * kMillisecond);
  }
  EXPECT_LE(world.fetched["w0"], 24u);
  EXPECT_THAT(world.asked, IsEmpty());
  EXPECT_THAT(world.tracker->DescribeMissing(), HasSubstr("worker w0: does not follow the decision that record"));
}

TEST(DamagedRows, AnOrdinaryFailureOfADecidedRecordIsTheRowsOutcome) {
  ByHand world(2);
  RefuseRow0(&world);
  world.Damaged("w1", 0, 0);
  world.tracker->Decided({0}, world.now);
  world.CarryOut();
  world.Answer(world.fetches.back().worker, 0, absl::DataLossError("/data/a: record 0: wrong CRC"));
  ASSERT_TRUE(world.tracker->head_complete());
  EXPECT_EQ(world.tracker->head_failure(), absl::DataLossError("/data/a: record 0: wrong CRC"));
}

TEST(DamagedRows, AnIntactCopyWithBadContentIsTheRowsOutcome) {
  ByHand world(2);
  RefuseRow0(&world);
  world.Answer("w1", 0, absl::DataLossError("/data/a: record 0: no image"));
  ASSERT_TRUE(world.tracker->head_complete());
  EXPECT_EQ(world.tracker->head_failure(), absl::DataLossError("/data/a: record 0: no image"));
  world.CoordinatorAwayForLong();
  world.Pass(60 * kSecond);
  EXPECT_THAT(world.stored, IsEmpty());
}

TEST(DamagedRows, ADecisionDuringARequestCausesNoSecondRequestAtOnce) {
  ByHand world(2);
  RefuseRow0(&world);
  world.tracker->Decided({0}, world.now);
  world.CarryOut();
  EXPECT_EQ(world.fetches.size(), 1u) << "a request to w1 is open, and w1 may know the decision";
  world.Damaged("w1", 0, 0);
  ASSERT_EQ(world.fetches.size(), 2u) << "w1 did not know the decision";
  EXPECT_THAT(world.fetches[1].decided, ElementsAre(0));
  EXPECT_THAT(world.asked, IsEmpty());
  world.Answer(world.fetches[1].worker, 0, absl::OkStatus());
  EXPECT_TRUE(world.tracker->head_complete());
}

TEST(DamagedRows, ANewWorkerIsAskedWhileTheDecisionIsPending) {
  ByHand world(1);
  RefuseRow0(&world);
  EXPECT_THAT(world.asked, ElementsAre(0));
  world.SetView(2, 2);
  ASSERT_EQ(world.fetches.size(), 1u);
  EXPECT_EQ(world.fetches[0].worker, "w1");
  EXPECT_TRUE(world.Content("w1", 0));
  EXPECT_TRUE(world.tracker->head_complete());
  EXPECT_THAT(world.tracker->DescribeMissing(), Not(HasSubstr("damaged")));
}

}  // namespace
}  // namespace penstock::client
