#include "server/worker/stream/session_opening.h"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

class Room final : public BlockMemory {
 public:
  explicit Room(uint64_t bytes) : bytes_(bytes) {}
  std::byte* Allocate(size_t) override { return nullptr; }
  void Deallocate(std::byte*, size_t) override {}
  uint64_t bytes_for_blocks() const override { return bytes_; }

 private:
  const uint64_t bytes_;
};

constexpr AheadLimits kLimits{.rows = 1000, .bytes = 1 << 20, .busy_rows = 8};

TEST(RowsAhead, AreAsManyAsTheBytesHold) {
  EXPECT_EQ(RowsAhead(kLimits, 16 << 10, nullptr), 64u);
  EXPECT_EQ(RowsAhead(kLimits, 64, nullptr), 1000u);
  EXPECT_EQ(RowsAhead(kLimits, 0, nullptr), 1000u);
}

// Further rows would be on the heap, and need a copy before sending.
TEST(RowsAhead, AreNoMoreThanTheCarriersMemoryHolds) {
  const Room room(256 << 10);
  EXPECT_EQ(RowsAhead(kLimits, 16 << 10, &room), 16u);
  const Room large(1 << 30);
  EXPECT_EQ(RowsAhead(kLimits, 16 << 10, &large), 64u);
}

TEST(RowsAhead, KeepTheThreadsBusyHoweverLargeTheyAre) {
  const Room room(256 << 10);
  EXPECT_EQ(RowsAhead(kLimits, 32 << 20, &room), 8u);
  EXPECT_EQ(RowsAhead(kLimits, 32 << 20, nullptr), 8u);
}

TEST(MessageBytes, AreTwiceAsManyWhereRowsLieInMemoryOfTheHostThatHasRoomForSeveralMessages) {
  constexpr uint64_t kFlush = 64 << 10;
  EXPECT_EQ(MessageBytes(kFlush, nullptr), kFlush);
  const Room room(8 * kFlush);
  EXPECT_EQ(MessageBytes(kFlush, &room), 2 * kFlush);
  // A message that does not fit into the memory would never fill: only its deadline would send it.
  const Room little(8 * kFlush - 1);
  EXPECT_EQ(MessageBytes(kFlush, &little), kFlush);
}

// A client of 0.3 would take the places of records among the selected ones for their numbers in the files.
TEST(SessionOpening, AnOlderClientMayNotReadAJobThatSelectsRecords) {
  v1::Open open;
  open.set_job("train");
  open.set_version("0.3.0");
  open.mutable_protocols()->set_oldest(1);
  open.mutable_protocols()->set_newest(1);
  v1::JobSpec job;
  EXPECT_TRUE(CheckKnowsData(open, job, false).ok());
  const absl::Status rejected = CheckKnowsData(open, job, true);
  EXPECT_TRUE(absl::IsFailedPrecondition(rejected));
  EXPECT_EQ(
      rejected.message(),
      "job 'train' selects records, which this client, penstock 0.3.0 with protocol 1, does not know: upgrade it");
  job.mutable_batch()->add_change();
  EXPECT_THAT(CheckKnowsData(open, job, false).message(), ::testing::HasSubstr("changes its batch size, which"));
  open.mutable_protocols()->set_newest(2);
  EXPECT_TRUE(CheckKnowsData(open, job, true).ok());
}

}  // namespace
}  // namespace penstock::worker
