// The client hedges only late requests, and never many.
#include "pipeline/storage/object/common/hedge_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace penstock::storage {
namespace {

constexpr size_t kRange = size_t{7} << 20, kRecord = 100'000;

void AnswerMany(HedgePolicy* policy, size_t bytes, Nanos took, int times) {
  for (int i = 0; i < times; ++i) policy->Answered(bytes, i, took);
}

TEST(HedgePolicy, NoRequestIsLateUntilItsSizeIsKnown) {
  HedgePolicy policy;
  AnswerMany(&policy, kRange, 300 * kMillisecond, 31);
  EXPECT_EQ(policy.LateAfter(kRange), HedgePolicy::kNever);
  policy.Answered(kRange, 31, 300 * kMillisecond);
  EXPECT_EQ(policy.LateAfter(kRange), 600 * kMillisecond);
  EXPECT_EQ(policy.LateAfter(kRecord), HedgePolicy::kNever) << "no answer of this size is known";
}

TEST(HedgePolicy, AFastRequestIsNotLateBeforeTheFloor) {
  HedgePolicy policy;
  AnswerMany(&policy, kRecord, kMillisecond, 100);
  EXPECT_EQ(policy.LateAfter(kRecord), 200 * kMillisecond);
}

TEST(HedgePolicy, AFewStragglersDoNotChangeTheLimit) {
  HedgePolicy policy;
  for (int i = 0; i < 1000; ++i) policy.Answered(kRange, i, (i % 25 == 0 ? 5000 : 150) * kMillisecond);
  EXPECT_EQ(policy.LateAfter(kRange), 300 * kMillisecond);
}

// For any sequence: of the answers to requests of any size, at most one in 50 had a second request.
TEST(HedgePolicy, AtMostOneRequestInFiftyIsHedged) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::minstd_rand random(seed + 1);
    HedgePolicy policy;
    uint64_t answers = 0, hedges = 0;
    const auto draw = [&](uint64_t below) { return std::uniform_int_distribution<uint64_t>(0, below - 1)(random); };
    for (int i = 0; i < 3000; ++i) {
      const size_t bytes = draw(2) == 0 ? kRange : draw(2) == 0 ? kRecord : draw(1 << 25);
      if (draw(3) == 0) {
        hedges += policy.Ask(bytes, static_cast<Nanos>(draw(3000)), 1 + draw(100), 1) ? 1 : 0;
      } else {
        policy.Answered(bytes, i, static_cast<Nanos>(draw(10 * kSecond)));
        ++answers;
      }
      ASSERT_LE(hedges * 50, answers) << seed;
    }
    ASSERT_GT(hedges, 0u) << seed;
  }
}

TEST(HedgePolicy, SavedHedgesDoNotFloodAStorageThatFailsBriefly) {
  HedgePolicy policy;
  AnswerMany(&policy, kRange, 50 * kMillisecond, 100'000);
  int hedges = 0;
  for (int i = 0; i < 100; ++i) hedges += policy.Ask(kRange, 0, 1000, 1) ? 1 : 0;
  EXPECT_EQ(hedges, 4);
}

TEST(HedgePolicy, NothingIsHedgedWhileEverythingIsSlow) {
  for (size_t under_way = 2; under_way < 300; ++under_way) {
    HedgePolicy policy;
    AnswerMany(&policy, kRange, 50 * kMillisecond, 1000);
    EXPECT_FALSE(policy.Ask(kRange, 0, under_way, under_way));
    EXPECT_FALSE(policy.Ask(kRange, 0, under_way, std::max<size_t>(2, under_way / 2)));
    EXPECT_FALSE(policy.Ask(kRange, 1000, under_way, 1)) << "no later request overtook this one";
    EXPECT_TRUE(policy.Ask(kRange, 998, under_way, 1)) << "only this request is slow";
  }
}

TEST(HedgePolicy, TheOnlyRequestInFlightMayBeHedged) {
  HedgePolicy policy;
  AnswerMany(&policy, kRange, 50 * kMillisecond, 100);
  EXPECT_TRUE(policy.Ask(kRange, 1000, 1, 1));
}

// A storage becomes ten times slower, with one request at a time. The limit of lateness follows within the remembered
// answers, and the bound holds until then.
TEST(HedgePolicy, AStorageThatBecomesSlowIsNotLateForever) {
  HedgePolicy policy;
  AnswerMany(&policy, kRange, 200 * kMillisecond, 1000);
  int hedges = 0;
  for (int i = 0; i < 1000; ++i) {
    if (2 * kSecond > policy.LateAfter(kRange)) hedges += policy.Ask(kRange, 1000 + i, 1, 1) ? 1 : 0;
    policy.Answered(kRange, 1000 + i, 2 * kSecond);
  }
  EXPECT_LE(hedges, 4);
  EXPECT_EQ(policy.LateAfter(kRange), 4 * kSecond);
}

}  // namespace
}  // namespace penstock::storage
