#include "server/coordinator/service/watch_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint64_t> Concerned(WatchTable* table) {
  std::vector<uint64_t> out;
  while (const auto id = table->TakeConcerned()) out.push_back(*id);
  return out;
}

std::vector<uint64_t> Due(WatchTable* table, Nanos now) {
  std::vector<uint64_t> out;
  while (const auto id = table->TakeDue(now)) out.push_back(*id);
  return out;
}

TEST(WatchTable, AChangeOfAJobConcernsWatchersOfTheJobAndOfAllJobs) {
  WatchTable table;
  table.Add(1, "a", 100);
  table.Add(2, "b", 100);
  table.Add(3, "", 100);
  table.Add(4, "a", 100);
  EXPECT_THAT(Concerned(&table), ElementsAre(1, 2, 3, 4));  // the table looks at each watcher when it arrives
  EXPECT_THAT(Concerned(&table), IsEmpty());
  table.JobChanged("a");
  table.JobChanged("a");
  EXPECT_THAT(Concerned(&table), ElementsAre(1, 4, 3));
  table.JobChanged("nobody's");
  EXPECT_THAT(Concerned(&table), ElementsAre(3));
  table.WakeAllJobs();
  EXPECT_THAT(Concerned(&table), ElementsAre(3));
}

TEST(WatchTable, WatchersTimeOutInTheOrderOfTheirDeadlines) {
  WatchTable table;
  table.Add(1, "a", 300);
  table.Add(2, "a", 100);
  table.Add(3, "a", 200);
  Concerned(&table);
  EXPECT_THAT(Due(&table, 99), IsEmpty());
  EXPECT_THAT(Due(&table, 200), ElementsAre(2, 3));
  EXPECT_EQ(table.size(), 1u);
  table.JobChanged("a");
  EXPECT_THAT(Concerned(&table), ElementsAre(1));
}

TEST(WatchTable, AConcernedWatcherDoesNotTimeOutBeforeItIsVisited) {
  WatchTable table;
  table.Add(1, "a", 100);
  Concerned(&table);
  table.JobChanged("a");
  EXPECT_THAT(Due(&table, 1000), IsEmpty());
  EXPECT_THAT(Concerned(&table), ElementsAre(1));
  EXPECT_TRUE(table.IsDue(1, 1000));
  EXPECT_THAT(Due(&table, 1000), ElementsAre(1));
}

TEST(WatchTable, ARemovedWatcherIsNotReturnedAgain) {
  WatchTable table;
  table.Add(1, "a", 100);
  table.Remove(1);
  table.Remove(1);
  table.Add(2, "a", 100);
  table.JobChanged("a");
  EXPECT_THAT(Concerned(&table), ElementsAre(2));
  table.Remove(2);
  EXPECT_THAT(Due(&table, 1000), IsEmpty());
  EXPECT_EQ(table.size(), 0u);
  EXPECT_FALSE(table.IsDue(2, 1000));
}

}  // namespace
}  // namespace penstock::coordinator
