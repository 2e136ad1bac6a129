#include "server/worker/stream/session_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace penstock::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kRecords = 103;

SessionParameters Parameters(uint32_t rank, uint32_t world, uint32_t step_rows, plan::LastBatch last,
                             const std::string& worker) {
  SessionParameters parameters;
  parameters.rank = rank;
  parameters.world_size = world;
  parameters.step_rows = step_rows;
  parameters.records = parameters.positions = kRecords;
  parameters.last = last;
  parameters.worker_id = worker;
  parameters.plan_of = [](uint64_t epoch) {
    plan::PlanOptions options;
    options.seed = 3;
    options.chunk_records = 4;
    options.window_chunks = 4;
    return (*plan::DataOrder::Create({50, 53}, options, std::nullopt))->Epoch(epoch);
  };
  return parameters;
}

v1::View TwoWorkers(v1::AssignmentPolicy policy = v1::BY_RECORD) {
  v1::View view;
  view.set_term(1);
  view.set_number(7);
  view.set_policy(policy);
  view.set_key_space(policy == v1::BY_RANK ? plan::kRankKeySpace : kRecords);
  for (const char* id : {"a", "b"}) {
    v1::View::Worker* worker = view.add_workers();
    worker->set_id(id);
    worker->set_address("h:1");
  }
  const uint64_t border = view.key_space() / 3;
  v1::View::Range* first = view.add_ranges();
  first->set_end(border);
  first->set_owner(0);
  first->set_backup(1);
  v1::View::Range* second = view.add_ranges();
  second->set_begin(border);
  second->set_end(view.key_space());
  second->set_owner(1);
  second->set_backup(0);
  return view;
}

v1::Grant GrantOf(uint64_t epoch, uint64_t begin, uint64_t end) {
  v1::Grant grant;
  grant.set_view_term(1);
  grant.set_view_number(7);
  grant.set_epoch(epoch);
  grant.set_begin(begin);
  grant.set_end(end);
  return grant;
}

std::vector<loader::RowRequest> All(SessionCore* core, size_t at_once = 5) {
  std::vector<loader::RowRequest> all;
  size_t looked = 0;
  while (core->HasMore()) {
    for (const loader::RowRequest& row : core->NextRows(at_once, 7, &looked)) all.push_back(row);
  }
  return all;
}

SessionCore Make(uint32_t rank, uint32_t world, uint32_t step_rows, plan::LastBatch last, const std::string& worker,
                 v1::AssignmentPolicy policy = v1::BY_RECORD) {
  auto core = SessionCore::Create(Parameters(rank, world, step_rows, last, worker));
  EXPECT_TRUE(core.ok()) << core.status();
  EXPECT_TRUE(core->UseView(TwoWorkers(policy)).ok());
  return *std::move(core);
}

// The predicted rows are exactly the later requested ones.
TEST(SessionCore, KnowsWhatLaterGrantsWillOwe) {
  constexpr uint32_t kStep = 12;
  for (const v1::AssignmentPolicy policy : {v1::BY_RECORD, v1::BY_RANK}) {
    const uint32_t world = policy == v1::BY_RANK ? 2 : 1;
    for (const char* worker : {"a", "b"}) {
      SessionCore core = Make(0, world, kStep, plan::LastBatch::kDrop, worker, policy);
      EXPECT_FALSE(core.TakeExpected().has_value());
      ASSERT_TRUE(core.AddGrant(GrantOf(2, 0, 36)).ok());
      const std::optional<loader::ExpectedRows> expected = core.TakeExpected();
      ASSERT_TRUE(expected.has_value());
      All(&core);
      ASSERT_TRUE(core.AddGrant(GrantOf(2, 36, 96)).ok());
      EXPECT_FALSE(core.TakeExpected().has_value());  // the view is the same
      std::set<uint64_t> owed, foreseen;
      for (const loader::RowRequest& row : All(&core)) owed.insert(row.position);
      const plan::EpochOrder plan = Parameters(0, world, kStep, plan::LastBatch::kDrop, worker).plan_of(2);
      for (uint64_t position = 36; position < 96; ++position) {
        if (expected->Covers(2, position, plan.RecordAt(position))) foreseen.insert(position);
      }
      EXPECT_EQ(foreseen, owed) << worker << " " << policy;
    }
  }
}

class Partition : public ::testing::TestWithParam<std::tuple<uint32_t, plan::LastBatch, v1::AssignmentPolicy>> {};

TEST_P(Partition, OfEveryStepOverWorkersAndRanksLosesAndRepeatsNothing) {
  const auto [world, last, policy] = GetParam();
  constexpr uint32_t kStep = 12;
  const plan::Steps steps = *plan::Steps::Create(kRecords, kStep, last, world);
  const uint64_t rows = last == plan::LastBatch::kPad       ? steps.StepsOf(0) * kStep
                        : last == plan::LastBatch::kPartial ? kRecords
                                                            : kRecords / kStep * kStep;
  std::multiset<uint64_t> seen;
  for (uint32_t rank = 0; rank < world; ++rank) {
    for (const char* worker : {"a", "b"}) {
      SessionCore core = Make(rank, world, kStep, last, worker, policy);
      ASSERT_TRUE(core.AddGrant(GrantOf(2, 0, 36)).ok());
      ASSERT_TRUE(core.AddGrant(GrantOf(2, 36, rows)).ok());
      uint64_t step = 0;
      for (const loader::RowRequest& row : All(&core)) {
        EXPECT_GE(row.step, step);  // in the order of steps
        step = row.step;
        EXPECT_EQ(row.step, row.tag / kStep * kStep);
        EXPECT_EQ(row.epoch, 2u);
        EXPECT_EQ(row.position, row.tag % kRecords);
        EXPECT_EQ(row.tag % kStep / (kStep / world), rank);
        EXPECT_FALSE(row.urgent);
        seen.insert(row.tag);
      }
    }
  }
  EXPECT_EQ(seen.size(), rows);
  EXPECT_EQ(std::set<uint64_t>(seen.begin(), seen.end()).size(), rows);
}

INSTANTIATE_TEST_SUITE_P(SessionCore, Partition,
                         ::testing::Values(std::tuple(1u, plan::LastBatch::kDrop, v1::BY_RECORD),
                                           std::tuple(4u, plan::LastBatch::kDrop, v1::BY_RECORD),
                                           std::tuple(3u, plan::LastBatch::kPad, v1::BY_RECORD),
                                           std::tuple(1u, plan::LastBatch::kPartial, v1::BY_RECORD),
                                           std::tuple(1u, plan::LastBatch::kDrop, v1::BY_RANK),
                                           std::tuple(4u, plan::LastBatch::kPad, v1::BY_RANK)));

TEST(SessionCore, OrdersStepsOverEpochs) {
  SessionCore core = Make(0, 1, 12, plan::LastBatch::kDrop, "a");
  ASSERT_TRUE(core.AddGrant(GrantOf(5, 84, 96)).ok());
  ASSERT_TRUE(core.AddGrant(GrantOf(6, 0, 12)).ok());
  const std::vector<loader::RowRequest> rows = All(&core);
  ASSERT_FALSE(rows.empty());
  EXPECT_LT(rows.front().step, rows.back().step);
  v1::Waiting waiting;
  waiting.set_epoch(6);
  EXPECT_EQ(*core.Waiting(waiting), rows.back().step);
}

TEST(SessionCore, AWorkerOutsideTheViewOwesNothing) {
  SessionCore core = Make(0, 1, 12, plan::LastBatch::kDrop, "c");
  ASSERT_TRUE(core.AddGrant(GrantOf(0, 0, 96)).ok());
  EXPECT_THAT(All(&core), IsEmpty());
}

TEST(SessionCore, FetchAnswersRowsOfAnybodyAndPadding) {
  SessionCore core = Make(0, 2, 12, plan::LastBatch::kPad, "a");
  v1::Fetch fetch;
  fetch.set_epoch(1);
  for (const uint64_t row : {100u, 11u, 105u}) fetch.add_positions(row);
  ASSERT_TRUE(core.AddFetch(fetch).ok());
  const std::vector<loader::RowRequest> rows = core.NextFetched(10);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].urgent);
  EXPECT_TRUE(WasFetched(rows[2].tag));
  EXPECT_EQ(RowOfTag(rows[2].tag), 105u);
  EXPECT_EQ(rows[2].position, 2u);
  EXPECT_FALSE(core.HasFetches());
}

// A queued fetch costs its encoded size, not the hundred bytes of a row in the making.
TEST(SessionCore, FetchesAreGivenOutInOrderAndKeptInAFewBytesARow) {
  SessionCore core = Make(0, 1, 12, plan::LastBatch::kDrop, "a");
  std::vector<uint64_t> asked;
  for (uint64_t i = 0; i < 5; ++i) {
    v1::Fetch fetch;
    fetch.set_epoch(i);
    for (uint64_t k = 0; k < 1000; ++k) fetch.add_positions((k * 37 + i) % 96);
    asked.insert(asked.end(), fetch.positions().begin(), fetch.positions().end());
    const auto bytes = core.AddFetch(fetch);
    ASSERT_TRUE(bytes.ok());
    EXPECT_LT(*bytes, 3000u);
  }
  EXPECT_EQ(core.queued_fetches(), 5000u);
  std::vector<uint64_t> given;
  while (core.HasFetches()) {
    for (const loader::RowRequest& row : core.NextFetched(7)) {
      EXPECT_EQ(row.epoch, given.size() / 1000);
      given.push_back(RowOfTag(row.tag));
    }
  }
  EXPECT_EQ(given, asked);
  EXPECT_EQ(core.queued_fetches(), 0u);
  EXPECT_EQ(*core.AddFetch(v1::Fetch()), 0u);
  EXPECT_FALSE(core.HasFetches());
}

TEST(SessionCore, AGrantMustNameAViewThatWasGiven) {
  SessionCore core = Make(0, 1, 12, plan::LastBatch::kDrop, "a");
  v1::Grant grant = GrantOf(0, 0, 12);
  grant.set_view_number(8);
  EXPECT_EQ(core.AddGrant(grant).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SessionCore, HostileMessagesAreRefusedWithTheReason) {
  SessionCore core = Make(0, 1, 12, plan::LastBatch::kDrop, "a");
  EXPECT_THAT(std::string(core.AddGrant(GrantOf(0, 0, 200)).message()), HasSubstr("[0, 200)"));
  EXPECT_FALSE(core.AddGrant(GrantOf(0, 12, 12)).ok());
  EXPECT_FALSE(core.AddGrant(GrantOf(0, UINT64_MAX - 1, UINT64_MAX)).ok());
  EXPECT_TRUE(core.AddGrant(GrantOf(UINT64_MAX, 0, 12)).ok());  // every epoch has a plan
  EXPECT_FALSE(All(&core).empty());
  v1::Fetch fetch;
  fetch.add_positions(kRecords);
  EXPECT_FALSE(core.AddFetch(fetch).ok());
  v1::Waiting waiting;
  waiting.set_begin(UINT64_MAX);
  EXPECT_FALSE(core.Waiting(waiting).ok());
  v1::View view = TwoWorkers();
  view.set_key_space(5);
  EXPECT_FALSE(core.UseView(view).ok());
  view = TwoWorkers();
  view.mutable_ranges(1)->set_owner(9);
  EXPECT_FALSE(core.UseView(view).ok());
}

TEST(SessionCore, OpenGrantsAndFetchesAreBounded) {
  SessionLimits limits;
  limits.grants = 3;
  limits.fetch_positions = 4;
  SessionCore core = *SessionCore::Create(Parameters(0, 1, 12, plan::LastBatch::kDrop, "a"), limits);
  ASSERT_TRUE(core.UseView(TwoWorkers()).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(core.AddGrant(GrantOf(0, 0, 96)).ok());
  EXPECT_EQ(core.AddGrant(GrantOf(0, 0, 96)).code(), absl::StatusCode::kResourceExhausted);
  v1::Fetch fetch;
  for (int i = 0; i < 5; ++i) fetch.add_positions(0);
  EXPECT_FALSE(core.AddFetch(fetch).ok());
  limits.fetches_open = 6;
  SessionCore other = *SessionCore::Create(Parameters(0, 1, 12, plan::LastBatch::kDrop, "a"), limits);
  fetch.mutable_positions()->Truncate(4);
  EXPECT_TRUE(other.AddFetch(fetch).ok());
  EXPECT_EQ(other.AddFetch(fetch).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(SessionCore, RanksThatDoNotFitAreRefused) {
  EXPECT_FALSE(SessionCore::Create(Parameters(2, 2, 12, plan::LastBatch::kDrop, "a")).ok());
  EXPECT_FALSE(SessionCore::Create(Parameters(0, 0, 12, plan::LastBatch::kDrop, "a")).ok());
  EXPECT_FALSE(SessionCore::Create(Parameters(0, 5, 12, plan::LastBatch::kDrop, "a")).ok());
  EXPECT_FALSE(SessionCore::Create(Parameters(0, 1, 0, plan::LastBatch::kDrop, "a")).ok());
}

}  // namespace
}  // namespace penstock::worker
