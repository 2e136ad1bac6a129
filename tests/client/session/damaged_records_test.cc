// Records whose copies are damaged, in sessions on virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "client/session/session.h"
#include "tests/client/fakes/sim_session.h"

namespace penstock::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The record at `row` of the job's first epoch.
uint64_t FirstRecord(const FakeJob& job, uint64_t row = 0) { return job.RecordOf(0, row); }

// Reads to the end of the session, or `at_most` batches. Checks the valid rows and returns the masked ones by epoch.
std::map<uint64_t, std::set<uint64_t>> ReadMasked(SimSession* sim, Nanos within, int at_most = 1 << 30) {
  std::map<uint64_t, std::set<uint64_t>> masked;
  for (int i = 0; i < at_most; ++i) {
    std::optional<absl::StatusOr<Batch>> next = sim->Next(within);
    sim->end = !next.has_value() ? absl::DeadlineExceededError("nothing was due") : next->status();
    if (!sim->end.ok()) break;
    const Batch& batch = **next;
    bool whole = true;
    for (size_t row = 0; row < batch.valid().size(); ++row) {
      if (batch.valid()[row] != 0) continue;
      whole = false;
      const RowId id = batch.ids()[row];
      masked[batch.epoch()].insert(
          sim->job.offsets()->RecordNumber({static_cast<uint64_t>(id.shard), static_cast<uint64_t>(id.record)}));
    }
    if (whole) {
      EXPECT_EQ(CheckBatch(sim->job, batch), "") << "in batch " << i;
    }
  }
  return masked;
}

TEST(SessionDamagedRecords, ComeFromTheWorkerWithTheIntactCopy) {
  SimSession sim(1, 2);
  Misbehavior how;
  for (uint64_t record = 0; record < 100; record += 3) how.damaged.insert(record);
  sim.workers[0]->Behave(how);
  ASSERT_TRUE(sim.Open(sim.options(3)).ok());
  EXPECT_EQ(sim.Read(5 * kSecond), 36);
  EXPECT_EQ(sim.end.code(), absl::StatusCode::kOutOfRange) << sim.end;
  EXPECT_THAT(sim.coordinator->judge_requests(), IsEmpty());
  EXPECT_EQ(sim.session->Stats().broken_streams, 0u);
}

TEST(SessionDamagedRecords, AreMaskedAfterTheCoordinatorsDecision) {
  SimSession sim(1, 2);
  const uint64_t record = FirstRecord(sim.job);
  for (auto& worker : sim.workers) worker->Behave({.damaged = {record}});
  std::vector<std::string> told;
  ReaderOptions options = sim.options(3);
  options.on_wait = [&](const std::string& text) { told.push_back(text); };
  ASSERT_TRUE(sim.Open(options).ok());
  EXPECT_FALSE(sim.Next(10 * kSecond).has_value());
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told[0], HasSubstr("every reachable copy of record"));
  EXPECT_THAT(told[0], HasSubstr("waiting for the coordinator's decision"));
  const std::vector<v1::JudgeRecordsRequest>& requests = sim.coordinator->judge_requests();
  ASSERT_FALSE(requests.empty());
  EXPECT_THAT(requests[0].records(), ElementsAre(record));
  EXPECT_EQ(requests[0].session_id(), "session-1");
  EXPECT_LE(requests.size(), 45u) << "each 250 ms";
  EXPECT_GE(requests.size(), 20u);
  const uint64_t sent = sim.workers[0]->rows_sent() + sim.workers[1]->rows_sent();
  sim.scheduler.RunFor(10 * kSecond);
  EXPECT_EQ(sim.workers[0]->rows_sent() + sim.workers[1]->rows_sent(), sent) << "workers are left alone meanwhile";

  sim.coordinator->Decide(record);
  const auto masked = ReadMasked(&sim, 2 * kSecond);
  EXPECT_EQ(sim.end.code(), absl::StatusCode::kOutOfRange) << sim.end;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (uint64_t row = 0; row < 96; ++row) {
      if (sim.job.RecordOf(epoch, row) != record) continue;
      EXPECT_THAT(masked.at(epoch), ElementsAre(record)) << epoch;
    }
  }
  sim.scheduler.RunFor(kSecond);
  const size_t asked = requests.size();
  sim.scheduler.RunFor(10 * kSecond);
  EXPECT_EQ(requests.size(), asked) << "the session sends no request about a decided record";
}

TEST(SessionDamagedRecords, AreFetchedAgainIfTheCoordinatorKnowsAnIntactCopy) {
  SimSession sim(1, 2);
  const uint64_t record = FirstRecord(sim.job);
  for (auto& worker : sim.workers) worker->Behave({.damaged = {record}});
  sim.coordinator->SetIntact(record);
  ASSERT_TRUE(sim.Open(sim.options()).ok());
  EXPECT_FALSE(sim.Next(10 * kSecond).has_value());
  EXPECT_LE(sim.coordinator->judge_requests().size(), 12u) << "a round takes a second";
  EXPECT_GE(sim.coordinator->judge_requests().size(), 5u);
  EXPECT_LE(sim.workers[0]->rows_fetched() + sim.workers[1]->rows_fetched(), 40u);
  sim.workers[1]->Behave({});
  EXPECT_EQ(sim.Read(2 * kSecond), 12);
}

TEST(SessionDamagedRecords, EarlierDecisionsApplyFromTheFirstRow) {
  SimSession sim(1, 2);
  const uint64_t record = FirstRecord(sim.job);
  sim.coordinator->Decide(record);
  ASSERT_TRUE(sim.Open(sim.options()).ok());  // the workers have intact copies and do not know the decision
  const auto masked = ReadMasked(&sim, kSecond);
  EXPECT_EQ(sim.end.code(), absl::StatusCode::kOutOfRange) << sim.end;
  ASSERT_EQ(masked.count(0), 1u);
  EXPECT_THAT(masked.at(0), ElementsAre(record));
  EXPECT_THAT(sim.coordinator->judge_requests(), IsEmpty());
}

TEST(SessionDamagedRecords, ADecidedRecordSubstitutesNoRow) {
  SimSession sim(1, 2);
  const uint64_t record = FirstRecord(sim.job, 90);
  Misbehavior how;  // the worker does not know the decision
  for (uint64_t row = 0; row < 8; ++row) how.substituted[row] = record;
  sim.workers[0]->Behave(how);
  sim.coordinator->Decide(record);
  ASSERT_TRUE(sim.Open(sim.options()).ok());
  EXPECT_EQ(sim.Read(5 * kSecond, 1), 1) << sim.end;
  EXPECT_EQ(sim.session->Stats().substituted_rows, 0u);
  EXPECT_GT(sim.workers[1]->rows_fetched(), 0u);
}

TEST(SessionDamagedRecords, AreDecidedByTheSessionWithoutTheCoordinatorAndStoredAfterItsReturn) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimSession sim(seed, 3);
    const std::set<uint64_t> bad = {sim.job.RecordOf(0, 20), sim.job.RecordOf(0, 50)};
    for (auto& worker : sim.workers) worker->Behave({.damaged = bad});
    sim.coordinator->SetView(sim.Views());
    ASSERT_TRUE(sim.Open(sim.options(3)).ok());
    sim.coordinator->SetAway(true);
    std::map<uint64_t, std::set<uint64_t>> masked = ReadMasked(&sim, 35 * kSecond, 12);
    EXPECT_TRUE(sim.end.ok()) << sim.end;
    EXPECT_EQ(masked[0], bad);
    const size_t before = sim.coordinator->judge_requests().size();
    sim.scheduler.RunFor(20 * kSecond);
    EXPECT_LE(sim.coordinator->judge_requests().size(), before + 12) << "the session asks every two seconds";
    sim.coordinator->SetAway(false);
    sim.scheduler.RunFor(5 * kSecond);
    const v1::JudgeRecordsRequest& last = sim.coordinator->judge_requests().back();
    EXPECT_EQ(last.records_size(), 0);
    std::set<uint64_t> stored;
    for (const v1::BadRecord& record : last.decided()) {
      stored.insert(record.record());
      EXPECT_TRUE(record.every_copy());
      EXPECT_TRUE(record.by_reader());
      EXPECT_EQ(record.reason(), "wrong CRC");
      EXPECT_THAT(record.message(), HasSubstr("wrong CRC"));
    }
    EXPECT_EQ(stored, bad);
    const size_t asked = sim.coordinator->judge_requests().size();
    ReadMasked(&sim, kSecond);
    EXPECT_EQ(sim.end.code(), absl::StatusCode::kOutOfRange) << sim.end;
    sim.scheduler.RunFor(10 * kSecond);
    EXPECT_EQ(sim.coordinator->judge_requests().size(), asked);
  }
}

TEST(SessionDamagedRecords, ACoordinatorThatDoesNotAnswerCountsAsAway) {
  SimSession sim(1, 2);
  const uint64_t record = FirstRecord(sim.job);
  for (auto& worker : sim.workers) worker->Behave({.damaged = {record}});
  ASSERT_TRUE(sim.Open(sim.options()).ok());
  sim.coordinator->SetDeaf(true);
  const auto masked = ReadMasked(&sim, 60 * kSecond);
  EXPECT_EQ(sim.end.code(), absl::StatusCode::kOutOfRange) << sim.end;
  EXPECT_THAT(masked.at(0), ElementsAre(record));
}

TEST(SessionDamagedRecords, WaitForALostWorkerWhileTheCoordinatorIsAway) {
  for (const bool returns : {false, true}) {
    SimSession sim(1, 2);
    const uint64_t record = FirstRecord(sim.job);
    sim.workers[0]->Behave({.damaged = {record}});
    std::string told;
    ReaderOptions options = sim.options();
    options.on_wait = [&](const std::string& text) { told = text; };
    ASSERT_TRUE(sim.Open(options).ok());
    sim.coordinator->SetAway(true);
    sim.transport.StopListening("w1");
    sim.workers[1]->BreakAll();
    EXPECT_FALSE(sim.Next(10 * kSecond).has_value());
    EXPECT_THAT(told, HasSubstr("waiting up to 30 s for the coordinator, which is away"));
    EXPECT_FALSE(sim.Next(18 * kSecond).has_value());
    if (returns) sim.transport.Listen("w1", sim.workers[1].get());
    const auto masked = ReadMasked(&sim, 10 * kSecond);
    EXPECT_EQ(sim.end.code(), absl::StatusCode::kOutOfRange) << sim.end;
    EXPECT_EQ(masked.size(), returns ? 0u : 1u);
  }
}

TEST(SessionDamagedRecords, EndTheSessionUnderFail) {
  SimSession sim(1, 2);
  const uint64_t record = FirstRecord(sim.job, 9);
  for (auto& worker : sim.workers) worker->Behave({.damaged = {record}, .fails_bad = true});
  sim.coordinator->Decide(record);
  ASSERT_TRUE(sim.Open(sim.options()).ok());
  EXPECT_EQ(sim.Read(kSecond), 1);
  EXPECT_EQ(sim.end.code(), absl::StatusCode::kDataLoss) << sim.end;
  EXPECT_THAT(std::string(sim.end.message()), HasSubstr("wrong CRC"));
}

TEST(SessionDamagedRecords, ADamageReportForARecordThatDoesNotExistBreaksTheStream) {
  SimSession sim(1, 2);
  sim.workers[0]->Behave({.damaged_out_of_range = true, .damaged = {FirstRecord(sim.job)}});
  ASSERT_TRUE(sim.Open(sim.options()).ok());
  EXPECT_EQ(sim.Read(5 * kSecond), 12);
  EXPECT_GT(sim.session->Stats().broken_streams, 0u);
  EXPECT_THAT(sim.coordinator->judge_requests(), IsEmpty());
}

}  // namespace
}  // namespace penstock::client
