#include "pipeline/loader/row_scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::loader {
namespace {

RowRequest Row(uint64_t step, uint64_t tag, bool urgent = false) {
  RowRequest request;
  request.step = step;
  request.tag = tag;
  request.urgent = urgent;
  return request;
}

using Blocked = RowScheduler::Blocked;

RowScheduler::Need AlwaysFits(const RowTask&, const Blocked*) { return {}; }

std::vector<uint64_t> TagsInOrder(RowScheduler* scheduler) {
  std::vector<uint64_t> tags;
  while (auto picked = scheduler->Pick(AlwaysFits).picked) tags.push_back(picked->request.tag);
  return tags;
}

TEST(RowScheduler, RowsOfASessionComeInTheOrderOfStepsThenOfArrival) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.Add(1, {Row(2, 20), Row(1, 10), Row(1, 11)});
  scheduler.Add(1, {Row(0, 0), Row(2, 21)});
  EXPECT_EQ(scheduler.waiting(1), 5u);
  EXPECT_EQ(TagsInOrder(&scheduler), (std::vector<uint64_t>{0, 10, 11, 20, 21}));
  EXPECT_TRUE(scheduler.empty());
}

TEST(RowScheduler, UrgentRowsOfAnySessionGoFirst) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 100);
  scheduler.AddSession(2, 1);
  scheduler.Add(1, {Row(0, 1), Row(1, 2)});
  scheduler.Add(2, {Row(7, 3), Row(9, 4, true)});
  EXPECT_EQ(scheduler.Pick(AlwaysFits).picked->request.tag, 4u);
}

TEST(RowScheduler, AHeadMakesPresentAndLaterRowsOfItsStepsUrgent) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.AddSession(2, 1);
  scheduler.Add(1, {Row(0, 1)});
  scheduler.Add(2, {Row(5, 2), Row(6, 3), Row(7, 4)});
  scheduler.SetHead(2, 6);
  scheduler.Add(2, {Row(6, 5)});
  const std::vector<uint64_t> tags = TagsInOrder(&scheduler);
  EXPECT_EQ((std::vector<uint64_t>(tags.begin(), tags.begin() + 3)), (std::vector<uint64_t>{2, 3, 5}));
}

TEST(RowScheduler, LooksForEachRecordOnceInTheOrderOfRows) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  EXPECT_EQ(scheduler.PickToLookFor(2), nullptr) << "no such session";
  scheduler.Add(1, {Row(1, 10), Row(0, 0), Row(2, 20, true)});
  std::vector<uint64_t> looked;
  const auto look = [&] {
    while (auto picked = scheduler.PickToLookFor(1)) {
      looked.push_back(picked->request.tag);
      picked->looked_for = true;
      scheduler.PutBack(std::move(picked));
    }
  };
  look();
  EXPECT_EQ(looked, (std::vector<uint64_t>{20, 0, 10})) << "urgent rows first";
  EXPECT_EQ(scheduler.waiting(1), 3u);
  // A row that arrives later, and is parked before its record was looked for.
  scheduler.Add(1, {Row(0, 1)});
  std::unique_ptr<RowTask> parked = scheduler.PickToLookFor(1);
  ASSERT_NE(parked, nullptr);
  scheduler.Park(1);
  EXPECT_EQ(scheduler.PickToLookFor(1), nullptr);
  scheduler.PutBackParked(std::move(parked));
  look();
  EXPECT_EQ(looked, (std::vector<uint64_t>{20, 0, 10, 1}));
  // A head makes rows urgent whose records were not looked for yet. Earlier rows of a later step then lose their
  // precedence.
  scheduler.Add(1, {Row(4, 40), Row(3, 30)});
  scheduler.SetHead(1, 3);
  scheduler.Add(1, {Row(5, 50, true)});
  look();
  EXPECT_EQ(looked, (std::vector<uint64_t>{20, 0, 10, 1, 30, 50, 40}));
  EXPECT_EQ(TagsInOrder(&scheduler), (std::vector<uint64_t>{0, 1, 10, 20, 30, 50, 40}));
  EXPECT_EQ(scheduler.PickToLookFor(1), nullptr) << "the row was already made";
}

TEST(RowScheduler, ComputingTimeIsSharedByWeight) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 3);
  scheduler.AddSession(2, 1);
  for (uint64_t i = 0; i < 1000; ++i) {
    scheduler.Add(1, {Row(i, 1)});
    scheduler.Add(2, {Row(i, 2)});
  }
  // Rows of session 1 cost twice as much: 3/4 of the time is 3/5 of the rows.
  std::map<uint64_t, uint64_t> spent;
  for (int i = 0; i < 500; ++i) {
    const auto picked = scheduler.Pick(AlwaysFits).picked;
    ASSERT_NE(picked, nullptr);
    const uint64_t cost = picked->id().session == 1 ? 2'000'000 : 1'000'000;
    spent[picked->id().session] += cost;
    scheduler.Done(picked->id().session, cost);
  }
  EXPECT_NEAR(static_cast<double>(spent[1]) / static_cast<double>(spent[2]), 3.0, 0.15);
}

TEST(RowScheduler, ASessionThatWasIdleDoesNotCatchUp) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.AddSession(2, 1);
  for (uint64_t i = 0; i < 300; ++i) scheduler.Add(1, {Row(i, 1)});
  for (int i = 0; i < 100; ++i) scheduler.Done(scheduler.Pick(AlwaysFits).picked->id().session, 1'000'000);
  for (uint64_t i = 0; i < 100; ++i) scheduler.Add(2, {Row(i, 2)});
  int second = 0;
  for (int i = 0; i < 100; ++i) {
    const auto picked = scheduler.Pick(AlwaysFits).picked;
    ASSERT_NE(picked, nullptr);
    second += picked->id().session == 2;
    scheduler.Done(picked->id().session, 1'000'000);
  }
  EXPECT_NEAR(second, 50, 2);
}

TEST(RowScheduler, ARowWithoutMemoryWaitsWhileOtherSessionsContinue) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.AddSession(2, 1);
  scheduler.Add(1, {Row(0, 1), Row(1, 2)});
  scheduler.Add(2, {Row(0, 3)});
  const auto first_has_none = [](const RowTask& row, const Blocked*) {
    return RowScheduler::Need{.shortage = row.id().session == 1 ? 5u : 0u};
  };
  EXPECT_EQ(scheduler.Pick(first_has_none).picked->request.tag, 3u);
  const auto choice = scheduler.Pick(first_has_none);
  EXPECT_EQ(choice.picked, nullptr);
  EXPECT_FALSE(choice.blocked.has_value());  // no session waits for it urgently
}

TEST(RowScheduler, UrgentRowsWaitForARowWhoseMemoryIsReserved) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.AddSession(2, 1);
  scheduler.AddSession(3, 1);
  for (uint64_t session : {1, 2, 3}) scheduler.Add(session, {Row(0, session, true)});
  // Sessions 1 and 3 lack memory, and only session 3 has memory reserved. Session 2 would use common memory.
  const auto need = [](const RowTask& row, const Blocked* behind) {
    const uint64_t id = row.id().session;
    RowScheduler::Need result;
    result.shortage = id == 2 ? (behind != nullptr && behind->account == 3 ? 10 : 0) : 100;
    result.reserved = id == 3;
    return result;
  };
  const auto choice = scheduler.Pick(need);
  ASSERT_TRUE(choice.blocked.has_value());
  EXPECT_EQ(choice.blocked->account, 3u);
  EXPECT_EQ(choice.picked, nullptr);
}

TEST(RowScheduler, WhileAnUrgentRowWaitsOtherSessionsMayOnlyUseTheirReserve) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.AddSession(2, 1);
  scheduler.AddSession(3, 1);
  scheduler.Add(1, {Row(0, 1, true)});
  scheduler.Add(2, {Row(0, 2)});
  scheduler.Add(3, {Row(0, 3)});
  // Session 1 has no memory. Session 3 has its reserve left, and session 2 has not.
  const auto shortage = [](const RowTask& row, const Blocked* behind) {
    const uint64_t id = row.id().session;
    return RowScheduler::Need{.shortage = id == 1 ? 100u : (behind != nullptr && id == 2) ? 1u : 0u};
  };
  const auto choice = scheduler.Pick(shortage);
  ASSERT_TRUE(choice.blocked.has_value());
  EXPECT_EQ(choice.blocked->account, 1u);
  EXPECT_EQ(choice.blocked->need.shortage, 100u);
  ASSERT_NE(choice.picked, nullptr);
  EXPECT_EQ(choice.picked->id().session, 3u);
  EXPECT_EQ(scheduler.Pick(shortage).picked, nullptr);
}

TEST(RowScheduler, ARowThatIsPutBackIsNextAndKeepsItsState) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.Add(1, {Row(0, 1), Row(0, 2)});
  auto picked = scheduler.Pick(AlwaysFits).picked;
  picked->need = 12345;
  picked->MoveTo(RowState::kMaking);
  picked->MoveTo(RowState::kAwaitsMemory);
  scheduler.PutBack(std::move(picked));
  EXPECT_EQ(scheduler.waiting(1), 2u);
  const auto again = scheduler.Pick(AlwaysFits).picked;
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->request.tag, 1u);
  EXPECT_EQ(again->need, 12345u);
}

// Returns the tags of the rows that a maker takes together.
std::vector<uint64_t> TagsOfTurn(RowScheduler* scheduler, RowScheduler::NeedOf need_of = AlwaysFits) {
  RowScheduler::Choice choice = scheduler->Pick(need_of);
  std::vector<uint64_t> tags;
  const auto add = [&](const RowTask& row) { tags.push_back(row.request.tag); };
  if (choice.picked == nullptr) return tags;
  add(*choice.picked);
  const uint64_t session = choice.picked->id().session;
  while (const auto more =
             scheduler->PickMore(session, choice.picked->request.urgent, tags.size(), choice.blocked, need_of)) {
    add(*more);
  }
  return tags;
}

// Makes the scheduler expect rows of the session that take `nanos`.
void ExpectCost(RowScheduler* scheduler, uint64_t session, uint64_t nanos) {
  for (int i = 0; i < 1000; ++i) scheduler->Done(session, nanos);
}

TEST(RowScheduler, TakesCheapRowsTogetherUpToOneTurn) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.Add(1, {Row(0, 0), Row(0, 1), Row(0, 2), Row(1, 3), Row(1, 4), Row(2, 5), Row(2, 6)});
  EXPECT_EQ(TagsOfTurn(&scheduler), (std::vector<uint64_t>{0})) << "nothing is known of their cost";
  ExpectCost(&scheduler, 1, 2 * RowScheduler::kTurn);
  EXPECT_EQ(TagsOfTurn(&scheduler), (std::vector<uint64_t>{1}));
  ExpectCost(&scheduler, 1, RowScheduler::kTurn / 3 + 1);
  EXPECT_EQ(TagsOfTurn(&scheduler), (std::vector<uint64_t>{2, 3, 4})) << "rows of several steps, in order";
  ExpectCost(&scheduler, 1, 0);
  EXPECT_EQ(TagsOfTurn(&scheduler), (std::vector<uint64_t>{5, 6}));
  EXPECT_TRUE(scheduler.empty());
}

TEST(RowScheduler, CheapRowsTakenTogetherAreEquallyUrgentAndFitIntoMemory) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  ExpectCost(&scheduler, 1, 0);
  scheduler.Add(1, {Row(0, 0, true), Row(1, 1, true), Row(2, 2), Row(3, 3), Row(4, 4)});
  EXPECT_EQ(TagsOfTurn(&scheduler), (std::vector<uint64_t>{0, 1}));
  const auto only_to_3 = [](const RowTask& row, const Blocked*) {
    return RowScheduler::Need{.shortage = row.request.tag <= 3 ? 0u : 1u};
  };
  EXPECT_EQ(TagsOfTurn(&scheduler, only_to_3), (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(scheduler.waiting(1), 1u);
}

TEST(RowScheduler, SessionsWithCheapRowsTakeTurnsByWeight) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.AddSession(2, 3);
  std::vector<RowRequest> rows(4000);
  for (const uint64_t session : {1, 2}) {
    ExpectCost(&scheduler, session, RowScheduler::kTurn / 10);
    for (RowRequest& row : rows) row.tag = session;
    scheduler.Add(session, rows);
  }
  std::map<uint64_t, size_t> made;
  for (int turn = 0; turn < 200; ++turn) {
    const std::vector<uint64_t> tags = TagsOfTurn(&scheduler);
    EXPECT_EQ(tags, std::vector<uint64_t>(10, tags.front())) << "a turn has rows of one session";
    made[tags.front()] += tags.size();
    for (const uint64_t session : tags) scheduler.Done(session, RowScheduler::kTurn / 10);
  }
  EXPECT_NEAR(static_cast<double>(made[2]) / static_cast<double>(made[1]), 3, 0.1);
}

std::vector<uint64_t> Tags(const std::vector<RowRequest>& rows) {
  std::vector<uint64_t> tags;
  for (const RowRequest& row : rows) tags.push_back(row.tag);
  return tags;
}

TEST(RowScheduler, RowsAreAnnouncedOnceInOrderUpToTheLimit) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.Add(1, {Row(0, 0), Row(0, 1), Row(1, 2), Row(1, 3), Row(2, 4)});
  EXPECT_EQ(Tags(scheduler.Announce(1, 2)), (std::vector<uint64_t>{0, 1}));
  EXPECT_TRUE(scheduler.Announce(1, 2).empty());
  auto picked = scheduler.Pick(AlwaysFits).picked;
  EXPECT_EQ(Tags(scheduler.Announce(1, 2)), (std::vector<uint64_t>{2}));
  // The scheduler takes the row back and counts it as waiting.
  scheduler.PutBack(std::move(picked));
  EXPECT_TRUE(scheduler.Announce(1, 3).empty());
  EXPECT_EQ(Tags(scheduler.Announce(1, 4)), (std::vector<uint64_t>{3}));
  EXPECT_TRUE(scheduler.Announce(1, 0).empty());
  EXPECT_EQ(Tags(scheduler.Announce(1, 100)), (std::vector<uint64_t>{4}));
  EXPECT_TRUE(scheduler.Announce(1, 100).empty());
}

TEST(RowScheduler, FetchedRowsDoNotSkipTheAnnouncementOfEarlierSteps) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.Add(1, {Row(0, 0), Row(1, 1), Row(2, 2)});
  scheduler.SetHead(1, 1);
  scheduler.Add(1, {Row(9, 9, true)});  // fetched
  EXPECT_EQ(Tags(scheduler.Announce(1, 10)), (std::vector<uint64_t>{0, 1, 2}));
  scheduler.Add(1, {Row(12, 12)});
  EXPECT_EQ(Tags(scheduler.Announce(1, 10)), (std::vector<uint64_t>{12}));
  // Pick() returns the fetched row, which was never announced, like any other. The count of waiting rows stays right.
  EXPECT_EQ(TagsInOrder(&scheduler), (std::vector<uint64_t>{0, 1, 9, 2, 12}));
  scheduler.Add(1, {Row(13, 13), Row(13, 14)});
  EXPECT_EQ(Tags(scheduler.Announce(1, 1)), (std::vector<uint64_t>{13}));
}

TEST(RowScheduler, RowsOfARemovedSessionAreDropped) {
  RowScheduler scheduler;
  scheduler.AddSession(1, 1);
  scheduler.Add(1, {Row(0, 1), Row(0, 2)});
  auto picked = scheduler.Pick(AlwaysFits).picked;
  scheduler.RemoveSession(1);
  EXPECT_TRUE(scheduler.empty());
  scheduler.PutBack(std::move(picked));
  scheduler.Done(1, 5);
  EXPECT_TRUE(scheduler.empty());
}

}  // namespace
}  // namespace penstock::loader
