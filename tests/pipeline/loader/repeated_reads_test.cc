// Caches grow for the epochs that follow, not for past ones.
#include "pipeline/loader/repeated_reads.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace penstock::loader {
namespace {

constexpr uint64_t kRows = 100;

// A single session reads [start, end) after it declared `told`. Returns a letter per epoch: n(othing follows), a(gain),
// o(ften).
std::string EpochsReadAgain(RepeatedReads* again, EpochsSeen* seen, uint64_t start, uint64_t end, uint64_t told) {
  std::string coming;
  again->Opens(told, *seen);
  for (uint64_t epoch = start; epoch < end; ++epoch) {
    for (uint64_t row = 0; row < kRows; ++row) seen->AddRow(epoch, row, 1);
    const RepeatedReads::Coming now = again->Look(*seen, kRows);
    EXPECT_TRUE(now.again || !now.often);
    coming += now.often ? 'o' : now.again ? 'a' : 'n';
  }
  again->Closes(told);
  return coming;
}

std::string OneReader(uint64_t start, uint64_t end, uint64_t told) {
  RepeatedReads again;
  EpochsSeen seen;
  return EpochsReadAgain(&again, &seen, start, end, told);
}

TEST(RepeatedReads, AFewEpochsAreNotOften) {
  EXPECT_EQ(OneReader(0, 1, 1), "n");
  EXPECT_EQ(OneReader(0, 3, 3), "aaa") << "two further epochs do not pay for decoding whole images in one";
  EXPECT_EQ(OneReader(5, 8, 8), "aaa") << "nor do the last three epochs of many";
}

TEST(RepeatedReads, FourEpochsAreOftenFromTheFirstToTheLast) {
  EXPECT_EQ(OneReader(0, 4, 4), "oooo") << "a filled cache is kept";
  EXPECT_EQ(OneReader(5, 9, 9), "oooo");
  EXPECT_EQ(OneReader(7, 8, plan::kWithoutEnd), "o");
}

TEST(RepeatedReads, AnUndeclaredEndCountsAsOftenFromTheSecondEpochOn) {
  EXPECT_EQ(OneReader(0, 3, plan::kEndNotKnown), "noo");
}

TEST(RepeatedReads, RepeatedSessionsOfOneEpochPredictAnotherSession) {
  RepeatedReads again;
  EpochsSeen seen;
  EXPECT_EQ(EpochsReadAgain(&again, &seen, 0, 1, 1), "n");
  EXPECT_EQ(EpochsReadAgain(&again, &seen, 0, 1, 1), "o") << "the same rows";
  RepeatedReads other;
  EpochsSeen epochs;
  EXPECT_EQ(EpochsReadAgain(&other, &epochs, 0, 1, 1), "n");
  EXPECT_EQ(EpochsReadAgain(&other, &epochs, 1, 2, 2), "o") << "the rows of the next epoch";
}

TEST(RepeatedReads, TheReaderThatReadsFurthestCounts) {
  RepeatedReads again;
  EpochsSeen seen;
  again.Opens(plan::kWithoutEnd, seen);
  EXPECT_EQ(EpochsReadAgain(&again, &seen, 0, 2, 2), "oo");
  RepeatedReads ranks;
  EpochsSeen both;
  ranks.Opens(2, both);
  EXPECT_EQ(EpochsReadAgain(&ranks, &both, 0, 2, 2), "aa") << "two ranks of a world, not one reader twice";
}

TEST(RepeatedReads, TheFirstReadsCorrectADeclarationWithoutReads) {
  RepeatedReads again;
  EpochsSeen seen;
  again.Opens(9, seen);
  EXPECT_EQ(again.Look(seen, kRows), (RepeatedReads::Coming{true, true})) << "nine epochs are declared";
  for (uint64_t row = 0; row < kRows; ++row) seen.AddRow(7, row, 1);
  EXPECT_EQ(again.Look(seen, kRows), (RepeatedReads::Coming{true, false})) << "the session resumes with the last two";
}

}  // namespace
}  // namespace penstock::loader
