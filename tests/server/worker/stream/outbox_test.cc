#include "server/worker/stream/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "penstock/v1/data.pb.h"
#include "server/worker/stream/row_message.h"
#include "server/worker/stream/session_core.h"
#include "transport/frame.h"

namespace penstock::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Purse : public loader::BudgetLease::Owner {
 public:
  void Release(uint64_t, uint64_t bytes) override { taken -= bytes; }
  uint64_t taken = 0;
};

class OutboxTest : public ::testing::Test {
 protected:
  // A row of `bytes` bytes, all of them `tag`.
  loader::RowResult Row(uint64_t epoch, uint64_t step, uint64_t tag, uint64_t bytes = 100, bool fetched = false) {
    loader::RowResult row;
    row.request.epoch = epoch;
    row.request.step = step;
    row.request.tag = fetched ? tag | kFetchedTag : tag;
    row.request.position = tag;
    row.request.urgent = fetched;
    row.ragged = {std::string(bytes, static_cast<char>(tag))};
    row.bytes = std::make_unique<loader::BudgetLease>(purse_, 1, bytes);
    purse_->taken += bytes;
    return row;
  }
  static loader::RowRequest Request(uint64_t step, uint64_t tag) {
    loader::RowRequest request;
    request.step = step;
    request.tag = tag;
    return request;
  }
  static std::vector<uint64_t> Tags(const std::vector<loader::RowResult>& rows) {
    std::vector<uint64_t> tags;
    for (const loader::RowResult& row : rows) tags.push_back(RowOfTag(row.request.tag));
    return tags;
  }
  static std::vector<uint64_t> Tags(const std::vector<loader::RowRequest>& rows) {
    std::vector<uint64_t> tags;
    for (const loader::RowRequest& row : rows) tags.push_back(RowOfTag(row.tag));
    return tags;
  }

  std::shared_ptr<Purse> purse_ = std::make_shared<Purse>();
  Outbox outbox_{0, OutboxLimits{.flush_bytes = 1000, .flush_after = 2 * kMillisecond, .max_rows = 16}};
};

TEST_F(OutboxTest, WaitsAWhileForMoreRows) {
  EXPECT_FALSE(outbox_.DueAt().has_value());
  outbox_.Add(Row(0, 5, 1), 10 * kMillisecond);
  outbox_.Add(Row(0, 5, 2), 11 * kMillisecond);
  EXPECT_EQ(outbox_.DueAt(), 12 * kMillisecond);
}

TEST_F(OutboxTest, IsDueAtOnceWhenAMessageIsFull) {
  for (uint64_t tag = 0; tag < 9; ++tag) outbox_.Add(Row(0, 5, tag), kSecond);
  EXPECT_GT(*outbox_.DueAt(), kSecond);
  outbox_.Add(Row(0, 5, 9), kSecond);
  EXPECT_LE(*outbox_.DueAt(), kSecond);
}

TEST_F(OutboxTest, SendsTheStepThatTheTrainerWaitsForFirstAndAsSoonAsItIsComplete) {
  outbox_.Expect({Request(5, 2), Request(5, 3), Request(8, 1), Request(8, 4)});
  outbox_.Add(Row(0, 8, 1), kSecond);
  outbox_.Add(Row(0, 5, 2), kSecond);
  outbox_.SetHead(5);
  EXPECT_GT(*outbox_.DueAt(), kSecond);
  outbox_.Add(Row(0, 5, 3), kSecond);
  EXPECT_LE(*outbox_.DueAt(), kSecond);
  EXPECT_THAT(Tags(outbox_.Take()), ElementsAre(2, 3, 1));
  outbox_.Add(Row(0, 8, 4), kSecond);
  EXPECT_GT(*outbox_.DueAt(), kSecond);  // complete, but no trainer waits for it
}

TEST_F(OutboxTest, AStepThatIsCompleteWhenTheTrainerComesToItGoesAtOnce) {
  outbox_.Expect({Request(5, 2)});
  outbox_.Add(Row(0, 5, 2), kSecond);
  EXPECT_GT(*outbox_.DueAt(), kSecond);
  outbox_.SetHead(5);
  EXPECT_LE(*outbox_.DueAt(), kSecond);
}

TEST_F(OutboxTest, ARevokedRowIsWaitedForAgain) {
  outbox_.Expect({Request(5, 2), Request(5, 3)});
  outbox_.Add(Row(0, 5, 2), kSecond);
  std::vector<loader::RowRequest> dropped;
  outbox_.Revoke(1, false, &dropped);
  outbox_.Expect(dropped);
  outbox_.SetHead(5);
  outbox_.Add(Row(0, 5, 3), kSecond);
  EXPECT_GT(*outbox_.DueAt(), kSecond);
  outbox_.Add(Row(0, 5, 2), kSecond);
  EXPECT_LE(*outbox_.DueAt(), kSecond);
}

TEST_F(OutboxTest, FetchedRowsOvertakeGrantedOnes) {
  outbox_.Add(Row(0, 1, 1), kSecond);
  outbox_.Add(Row(0, 9, 2, 100, true), kSecond);
  EXPECT_LE(*outbox_.DueAt(), kSecond);
  EXPECT_THAT(Tags(outbox_.Take()), ElementsAre(2, 1));
}

TEST_F(OutboxTest, AMessageHoldsOneEpochAndNoMoreThanItsSize) {
  for (uint64_t tag = 0; tag < 3; ++tag) outbox_.Add(Row(7, tag, tag, 600), 0);
  outbox_.Add(Row(8, 100, 3), 0);
  EXPECT_THAT(Tags(outbox_.Take()), ElementsAre(0, 1));
  EXPECT_THAT(Tags(outbox_.Take()), ElementsAre(2));
  EXPECT_THAT(Tags(outbox_.Take()), ElementsAre(3));
  EXPECT_THAT(outbox_.Take(), IsEmpty());
}

TEST_F(OutboxTest, RevokesTheFurthestStepsFirstAndFreesTheirMemory) {
  for (uint64_t step = 1; step <= 5; ++step) outbox_.Add(Row(0, step, step), 0);
  std::vector<loader::RowRequest> dropped;
  EXPECT_EQ(outbox_.Revoke(150, false, &dropped), 200u);
  EXPECT_THAT(Tags(dropped), ElementsAre(5, 4));
  EXPECT_EQ(purse_->taken, 300u);
  EXPECT_EQ(outbox_.bytes(), 300u);
}

TEST_F(OutboxTest, NeverRevokesTheStepThatTheTrainerWaitsFor) {
  for (uint64_t step = 1; step <= 3; ++step) outbox_.Add(Row(0, step, step), 0);
  outbox_.Add(Row(0, 2, 20, 100, true), 0);
  outbox_.SetHead(2);
  std::vector<loader::RowRequest> dropped;
  EXPECT_EQ(outbox_.Revoke(1 << 20, false, &dropped), 100u);
  EXPECT_THAT(Tags(dropped), ElementsAre(3));
  EXPECT_EQ(outbox_.size(), 3u);
}

TEST_F(OutboxTest, AMessageCarriesRowsBesideFailuresAndFreesMemoryWhenItGoes) {
  std::vector<loader::RowResult> rows;
  rows.push_back(Row(3, 0, 'a', 10));      // joined with its neighbors
  rows.push_back(Row(3, 0, 'b', 100000));  // a piece of its own
  loader::RowResult failed = Row(3, 0, 'c', 0);
  failed.status = absl::DataLossError("f, record 3: bad");
  rows.push_back(std::move(failed));
  loader::RowResult masked = Row(3, 0, 'd', 0);
  masked.masked = true;
  rows.push_back(std::move(masked));
  loader::RowResult substituted = Row(3, 0, 'e', 5);
  substituted.substituted = true;
  substituted.source_record = 77;
  rows.push_back(std::move(substituted));

  RowsMessage made = MakeRowsMessage(std::move(rows), 0);
  EXPECT_EQ(made.row_bytes, 100015u);
  EXPECT_EQ(made.sent_bytes, 100015u);
  EXPECT_EQ(purse_->taken, 100015u);
  {
    v1::ServerHeader header;
    transport::SliceCursor payload;
    ASSERT_TRUE(transport::ParseFrame(made.message, &header, &payload).ok());
    const v1::Rows& out = header.rows();
    EXPECT_EQ(out.epoch(), 3u);
    EXPECT_THAT(out.positions(), ElementsAre('a', 'b', 'c', 'd', 'e'));
    EXPECT_THAT(out.payload_bytes(), ElementsAre(10, 100000, 0, 0, 5));
    EXPECT_THAT(out.flags(), ElementsAre(0, 0, 0, v1::ROW_MASKED, v1::ROW_SUBSTITUTED));
    ASSERT_EQ(out.failures_size(), 1);
    EXPECT_EQ(out.failures(0).row(), 2u);
    EXPECT_EQ(out.failures(0).message(), "f, record 3: bad");
    ASSERT_EQ(out.substitutions_size(), 1);
    EXPECT_EQ(out.substitutions(0).source_record(), 77u);
    std::string bytes(payload.remaining(), '\0');
    ASSERT_TRUE(payload.Read(bytes.data(), bytes.size()));
    EXPECT_EQ(bytes, std::string(10, 'a') + std::string(100000, 'b') + std::string(5, 'e'));
  }
  made.message = transport::SliceList();
  EXPECT_EQ(purse_->taken, 0u);
}

TEST_F(OutboxTest, ACompressedMessageHoldsTheSameRowsInLessAndWhatTheyTookUntilItIsSent) {
  batch::RowSchema schema;
  std::vector<loader::RowResult> rows;
  rows.push_back(Row(3, 0, 'a', 10));
  loader::RowResult failed = Row(3, 0, 'c', 0);
  failed.status = absl::DataLossError("f, record 3: bad");
  rows.push_back(std::move(failed));
  rows.push_back(Row(3, 0, 'b', 100000));
  batch::RowEncoder encoder(schema);
  RowsMessage made = MakeRowsMessage(std::move(rows), 0, &encoder);
  EXPECT_EQ(made.row_bytes, 100010u);
  EXPECT_LT(made.sent_bytes, 10000u);
  EXPECT_EQ(purse_->taken, 100010u);
  {
    v1::ServerHeader header;
    transport::SliceCursor payload;
    ASSERT_TRUE(transport::ParseFrame(made.message, &header, &payload).ok());
    const v1::Rows& out = header.rows();
    EXPECT_EQ(out.coding(), v1::ROW_CODING_ZSTD);
    EXPECT_THAT(out.payload_bytes(), ElementsAre(10, 0, 100000));
    ASSERT_EQ(payload.remaining(), made.sent_bytes);
    std::vector<uint8_t> coded(payload.remaining());
    ASSERT_TRUE(payload.Read(coded.data(), coded.size()));
    const std::vector<uint32_t> lengths(out.payload_bytes().begin(), out.payload_bytes().end());
    auto bytes = batch::RowDecoder(schema).Decode(coded, lengths, 1 << 20);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes->get()), 100010),
              std::string(10, 'a') + std::string(100000, 'b'));
  }
  made.message = transport::SliceList();
  EXPECT_EQ(purse_->taken, 0u);
}

TEST_F(OutboxTest, RowsThatDoNotGetSmallerGoAsTheyAre) {
  batch::RowSchema schema;
  std::vector<loader::RowResult> rows;
  rows.push_back(Row(3, 0, 'a', 3));
  batch::RowEncoder encoder(schema);
  const RowsMessage made = MakeRowsMessage(std::move(rows), 0, &encoder);
  EXPECT_EQ(made.sent_bytes, 3u);
  v1::ServerHeader header;
  transport::SliceCursor payload;
  ASSERT_TRUE(transport::ParseFrame(made.message, &header, &payload).ok());
  EXPECT_EQ(header.rows().coding(), v1::ROW_CODING_NONE);
  EXPECT_EQ(payload.remaining(), 3u);
}

}  // namespace
}  // namespace penstock::worker
