#include "pipeline/loader/memory_budget.h"

#include <gtest/gtest.h>

namespace penstock::loader {
namespace {

TEST(MemoryBudget, AReserveBelongsToItsAccountOnly) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.Open(1, 300).ok());
  ASSERT_TRUE(budget.Open(2, 200).ok());
  EXPECT_TRUE(budget.Take(1, 800));  // its reserve and all common memory
  EXPECT_EQ(budget.Shortage(1, 1), 1u);
  EXPECT_FALSE(budget.Take(1, 1));
  EXPECT_TRUE(budget.Take(2, 200));
  EXPECT_EQ(budget.Shortage(2, 50), 50u);
  EXPECT_EQ(budget.used(), 1000u);
  budget.Release(1, 100);
  EXPECT_TRUE(budget.Take(2, 100));
  EXPECT_EQ(budget.PeakWith(0), 1000u);
}

TEST(MemoryBudget, RejectsReservesAboveTheBudgetWithTheNumbers) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.Open(1, 700).ok());
  const absl::Status status = budget.Open(2, 301);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("301"), absl::string_view::npos);
  EXPECT_NE(status.message().find("1000"), absl::string_view::npos);
  EXPECT_NE(status.message().find("memory_budget_bytes"), absl::string_view::npos);
  EXPECT_TRUE(budget.Open(2, 300).ok());
}

TEST(MemoryBudget, ALaterReserveWaitsForMemoryThatOthersUse) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.Open(1, 100).ok());
  ASSERT_TRUE(budget.Take(1, 1000));
  ASSERT_TRUE(budget.Open(2, 400).ok());
  EXPECT_EQ(budget.Shortage(2, 400), 400u);
  EXPECT_FALSE(budget.Take(2, 1));
  budget.Release(1, 400);
  EXPECT_TRUE(budget.Take(2, 400));
  EXPECT_EQ(budget.used(), 1000u);
}

TEST(MemoryBudget, MemoryOfAClosedAccountCountsUntilItIsReleased) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.Open(1, 600).ok());
  ASSERT_TRUE(budget.Take(1, 500));
  budget.Close(1);
  ASSERT_TRUE(budget.Open(2, 100).ok());
  EXPECT_TRUE(budget.Take(2, 500));
  EXPECT_FALSE(budget.Take(2, 1));
  budget.Release(1, 500);
  EXPECT_TRUE(budget.Take(2, 500));
  budget.Release(2, 1000);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, InsideReserveIsTheMemoryThatNoOtherAccountCouldTake) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.Open(1, 300).ok());
  EXPECT_TRUE(budget.InsideReserve(1, 300));
  EXPECT_FALSE(budget.InsideReserve(1, 301));
  ASSERT_TRUE(budget.Take(1, 200));
  EXPECT_TRUE(budget.InsideReserve(1, 100));
  EXPECT_FALSE(budget.InsideReserve(1, 101));
}

TEST(MemoryBudget, LargestTakeIsAllMemoryThatIsNotReservedForOthers) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.Open(1, 300).ok());
  ASSERT_TRUE(budget.Open(2, 200).ok());
  EXPECT_EQ(budget.LargestTake(1), 800u);
  EXPECT_EQ(budget.LargestTake(2), 700u);
}

TEST(MemoryBudget, LendersHaveTheMostCommonMemoryAndTheBorrowerIsLast) {
  MemoryBudget budget(1000);
  for (uint64_t account : {1, 2, 3, 4}) ASSERT_TRUE(budget.Open(account, 100).ok());
  ASSERT_TRUE(budget.Take(1, 150));
  ASSERT_TRUE(budget.Take(2, 300));
  ASSERT_TRUE(budget.Take(3, 100));  // its reserve, which helps no other account
  ASSERT_TRUE(budget.Take(4, 20));
  EXPECT_EQ(budget.Lenders(4, 10), (std::vector<MemoryBudget::Account>{2, 1, 4}));
  EXPECT_EQ(budget.Lenders(2, 10), (std::vector<MemoryBudget::Account>{2}));  // account 2 has more than its share
}

TEST(MemoryBudget, ALenderGivesNoMoreThanItsShareForUnreservedMemory) {
  MemoryBudget budget(1000);
  for (uint64_t account : {1, 2, 3}) ASSERT_TRUE(budget.Open(account, 100).ok());
  ASSERT_TRUE(budget.Take(1, 400));  // 300 bytes of common memory
  ASSERT_TRUE(budget.Take(2, 300));  // 200 bytes of common memory
  ASSERT_TRUE(budget.Take(3, 250));  // 150 bytes of common memory
  EXPECT_EQ(budget.Lenders(3, 60), (std::vector<MemoryBudget::Account>{1, 3}));
  EXPECT_EQ(budget.Lenders(3, 200), (std::vector<MemoryBudget::Account>{3}));
}

TEST(MemoryBudget, ANewTotalAppliesToAllAccounts) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.Open(1, 300).ok());
  ASSERT_TRUE(budget.Take(1, 500));
  EXPECT_EQ(budget.LeastTotal(), 500u);
  EXPECT_EQ(budget.LacksFor(800), 100u);
  EXPECT_EQ(budget.LacksFor(700), 0u);
  budget.SetTotal(550);
  EXPECT_EQ(budget.LargestTake(1), 550u);
  EXPECT_FALSE(budget.Take(1, 100));
  EXPECT_FALSE(budget.Open(2, 300).ok());
  budget.SetTotal(2000);
  EXPECT_TRUE(budget.Open(2, 300).ok());
  EXPECT_TRUE(budget.Take(1, 900));
  EXPECT_EQ(budget.TakeLatePeak(), 1400u);
  budget.Release(1, 900);
  EXPECT_EQ(budget.TakeLatePeak(), 1400u);
  EXPECT_EQ(budget.TakeLatePeak(), 500u);
  EXPECT_EQ(budget.PeakWith(0), 1400u);
  budget.RestartPeak(100);
  EXPECT_EQ(budget.PeakWith(0), 1500u);
  EXPECT_EQ(budget.PeakWith(2000), 2500u);
}

TEST(MemoryBudget, RequestListsTakeNoReserve) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.Open(1, 300).ok());
  ASSERT_TRUE(budget.Open(2, 300).ok());
  EXPECT_EQ(budget.TakeCommon(1, 30, 100), 13u);  // 13 of the 400 common bytes
  EXPECT_EQ(budget.Shortage(1, 300), 0u);         // its own reserve is left too
  EXPECT_EQ(budget.Shortage(2, 300), 0u);
  EXPECT_TRUE(budget.Take(1, 300));
  EXPECT_TRUE(budget.Take(2, 300));
  EXPECT_EQ(budget.TakeCommon(2, 30, 1), 0u);
  EXPECT_EQ(budget.PeakWith(0), 990u);
  budget.Close(1);
  EXPECT_EQ(budget.Shortage(2, 10), 0u);
  budget.ReleaseCommon(1, 390);
  budget.Release(1, 300);
  EXPECT_EQ(budget.used(), 300u);
}

TEST(MemoryBudget, PinnedBytesReduceSharedMemoryAndNoReserve) {
  MemoryBudget budget(100);
  ASSERT_TRUE(budget.Open(1, 40).ok());
  ASSERT_TRUE(budget.Take(1, 60));  // 20 of them are shared
  EXPECT_FALSE(budget.Pin(41, 1000));
  EXPECT_TRUE(budget.Pin(30, 1000));
  EXPECT_EQ(budget.used(), 90u);
  EXPECT_EQ(budget.Shortage(1, 20), 10u);
  EXPECT_EQ(budget.LargestTake(1), 70u);
  EXPECT_FALSE(budget.Open(2, 31).ok());
  EXPECT_TRUE(budget.Open(2, 30).ok());
  budget.Unpin(30);
  EXPECT_TRUE(budget.Take(1, 10));
  budget.Release(1, 70);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, PinnedBytesStayBelowTheirOwnLimit) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.Pin(20, 25));
  EXPECT_FALSE(budget.Pin(6, 25));
  EXPECT_TRUE(budget.Pin(5, 25));
  budget.Unpin(25);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, RecordsReadAheadStayBelowOneLimitOverAllAccounts) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.Open(1, 300).ok());
  ASSERT_TRUE(budget.Open(2, 300).ok());
  EXPECT_TRUE(budget.TakeAhead(1, 150, 200));
  EXPECT_FALSE(budget.TakeAhead(2, 51, 200));
  EXPECT_TRUE(budget.TakeAhead(2, 50, 200));
  EXPECT_EQ(budget.Common(1), 150u);
  EXPECT_EQ(budget.Shortage(1, 300), 0u);  // the reserve is untouched
  budget.Close(1);
  budget.ReleaseAhead(1, 150);
  EXPECT_FALSE(budget.TakeAhead(2, 800, 1000));  // the budget has no room
  EXPECT_TRUE(budget.TakeAhead(2, 150, 200));
  budget.ReleaseAhead(2, 200);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, WhileAnAccountIsBlockedOnlyLighterUsersGetSharedMemory) {
  MemoryBudget budget(1000);
  for (const uint64_t account : {1, 2, 3}) ASSERT_TRUE(budget.Open(account, 100).ok());
  ASSERT_TRUE(budget.Take(1, 300));  // 200 bytes of shared memory
  ASSERT_TRUE(budget.Take(2, 150));  // 50 bytes of it
  MemoryBudget::Need need = budget.NeedOf(2, 60, nullptr);
  EXPECT_EQ(need.shortage, 0u);
  EXPECT_EQ(need.bytes, 60u);
  EXPECT_FALSE(need.reserved);
  MemoryBudget::Blocked blocked{1, budget.NeedOf(1, 800, nullptr)};
  EXPECT_EQ(blocked.need.shortage, budget.Shortage(1, 800));
  EXPECT_EQ(budget.NeedOf(2, 60, &blocked).shortage, 0u);     // 110 bytes, fewer than account 1
  EXPECT_EQ(budget.NeedOf(2, 150, &blocked).shortage, 150u);  // as many as account 1
  EXPECT_EQ(budget.NeedOf(3, 100, &blocked).shortage, 0u);    // its own reserve
  EXPECT_TRUE(budget.NeedOf(3, 100, &blocked).reserved);
  blocked.need.reserved = true;
  EXPECT_EQ(budget.NeedOf(2, 60, &blocked).shortage, 60u);
  EXPECT_EQ(budget.NeedOf(3, 100, &blocked).shortage, 0u);
}

TEST(MemoryBudget, AGroupStaysWithinItsLimit) {
  MemoryBudget budget(1000);
  MemoryBudget::Group group{.limit = 300};
  ASSERT_TRUE(budget.Open(1, 100, &group).ok());
  ASSERT_TRUE(budget.Open(2, 100, &group).ok());
  ASSERT_TRUE(budget.Open(3, 100).ok());
  const absl::Status status = budget.Open(4, 150, &group);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("300"), absl::string_view::npos);
  EXPECT_TRUE(budget.Take(1, 250));
  EXPECT_EQ(budget.Shortage(2, 60), 10u);
  EXPECT_TRUE(budget.NeedOf(2, 60, nullptr).capped);
  EXPECT_EQ(budget.LargestTake(1), 200u);
  // Only accounts of the group can help.
  EXPECT_EQ(budget.Lenders(2, 60, true), std::vector<MemoryBudget::Account>{1});
  EXPECT_FALSE(budget.NeedOf(3, 600, nullptr).shortage > 0);
  budget.Release(1, 100);
  EXPECT_EQ(budget.Shortage(2, 60), 0u);
  // Memory of a closed account no longer counts for its group.
  budget.Close(1);
  EXPECT_EQ(group.used, 0u);
  EXPECT_EQ(group.reserved, 100u);
  budget.Release(1, 150);
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace penstock::loader
