#include "pipeline/plan/view.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::plan {
namespace {

View Good() {
  return {.term = 1,
          .n = 4,
          .key_space = 100,
          .ranges = {{0, 40, 0, 1}, {40, 41, 1, 2}, {41, 100, 2, 0}},
          .workers = {{"a", "h:1"}, {"b", "h:2"}, {"c", "h:3"}}};
}

TEST(View, FindsOwnerAndBackupOfEveryKey) {
  const View view = Good();
  ASSERT_TRUE(view.Validate().ok());
  for (uint64_t key = 0; key < 100; ++key) {
    const uint32_t owner = key < 40 ? 0 : key < 41 ? 1 : 2;
    EXPECT_EQ(view.RangeOf(key), owner);
    EXPECT_EQ(view.OwnerOf(key), owner);
    EXPECT_EQ(view.BackupOf(key), (owner + 1) % 3);
  }
  EXPECT_EQ(view.FindWorker("b"), 1u);
  EXPECT_EQ(view.FindWorker("x"), View::kNobody);
}

TEST(View, WithoutWorkersHasNoOwners) {
  View view;
  view.key_space = 10;
  EXPECT_TRUE(view.Validate().ok());
  EXPECT_EQ(view.OwnerOf(3), View::kNobody);
  EXPECT_EQ(view.BackupOf(3), View::kNobody);
}

TEST(View, OrdersByTermThenNumber) {
  View a = Good(), b = Good();
  EXPECT_FALSE(a.OlderThan(b));
  b.n = 5;
  EXPECT_TRUE(a.OlderThan(b));
  a.term = 2;
  EXPECT_FALSE(a.OlderThan(b));
  EXPECT_TRUE(b.OlderThan(a));
}

TEST(View, KeysFollowThePolicy) {
  View view = Good();
  EXPECT_EQ(view.KeyOf(77, 3, 8), 77u);
  view.policy = AssignPolicy::kByRank;
  EXPECT_EQ(view.KeyOf(77, 3, 8), 3u * kRankKeySpace / 8);
}

// A rank's slice is the same part of the key space at every batch size, and its slots cover the part evenly.
TEST(View, RankKeysGiveARankTheSamePartAtAnyBatchSize) {
  for (const uint64_t size : {4, 64, 1000, 1 << 22}) {
    for (uint64_t slot = 0; slot < size; ++slot) {
      const uint64_t key = RankKey(slot, size);
      ASSERT_LT(key, kRankKeySpace);
      ASSERT_EQ(key * 4 / kRankKeySpace, slot * 4 / size);
    }
  }
}

TEST(View, ValidateNamesTheMistake) {
  const auto message = [](const View& view) {
    const absl::Status status = view.Validate();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  View view = Good();
  view.ranges[1].begin = 39;
  EXPECT_NE(message(view).find("range 1 [39, 41) does not follow key 40"), std::string::npos);
  view = Good();
  view.ranges[2].end = 101;
  EXPECT_NE(message(view).find("range 2"), std::string::npos);
  view.ranges[2].end = 99;
  EXPECT_NE(message(view).find("cover 99 of 100"), std::string::npos);
  view = Good();
  view.ranges[1].end = 40;
  EXPECT_NE(message(view).find("range 1"), std::string::npos);
  view = Good();
  view.ranges[0].backup = 3;
  EXPECT_NE(message(view).find("names worker 3 of 3"), std::string::npos);
  view = Good();
  view.ranges[0].backup = 0;
  EXPECT_NE(message(view).find("its own backup"), std::string::npos);
  view = Good();
  view.workers[2].id = "a";
  EXPECT_NE(message(view).find("a is there twice"), std::string::npos);
  view.workers[2].id = "";
  EXPECT_NE(message(view).find("worker 2 has no id"), std::string::npos);
  view = Good();
  view.workers.clear();
  EXPECT_NE(message(view).find("of 0"), std::string::npos);
  view = Good();
  view.ranges.clear();
  EXPECT_NE(message(view).find("cover 0 of 100"), std::string::npos);
  view = Good();
  view.policy = AssignPolicy::kByRank;
  EXPECT_NE(message(view).find("1048576"), std::string::npos);
  view.policy = static_cast<AssignPolicy>(7);
  EXPECT_NE(message(view).find("policy 7"), std::string::npos);
}

}  // namespace
}  // namespace penstock::plan
