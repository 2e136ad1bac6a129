// The stores: SQLite's and the one in memory have the same contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime/thread_pool.h"
#include "server/coordinator/history_list.h"
#include "server/coordinator/store/sqlite_store.h"
#include "tests/server/coordinator/some_events.h"
#include "tests/support/commit_facts.h"
#include "tests/support/fake_store.h"

namespace penstock::coordinator {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class StoreTest : public ::testing::TestWithParam<bool> {
 protected:
  StoreTest() : dir_(fs::path(::testing::TempDir()) / ("penstock-store-" + std::to_string(getpid()))) {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    Reopen();
  }
  ~StoreTest() override {
    store_.reset();
    fs::remove_all(dir_);
  }
  std::string path() const { return (dir_ / "coordinator.db").string(); }
  void Reopen() {
    if (GetParam()) {
      store_.reset();
      auto opened = OpenSqliteStore(path(), &disk_);
      ASSERT_TRUE(opened.ok()) << opened.status();
      store_ = *std::move(opened);
    } else if (store_ == nullptr) {
      store_ = std::make_unique<support::FakeStore>();
    }
  }

  fs::path dir_;
  ThreadPool disk_{1, "store"};
  std::unique_ptr<Store> store_;
};

TEST_P(StoreTest, CommittedFactsAreThereAfterReopening) {
  EXPECT_EQ(store_->Load()->SerializeAsString(), v1::StoredState().SerializeAsString());
  EXPECT_EQ(support::CommitFacts(store_.get(), SomeEvents(), 0).kind, CommitOutcome::kStored);
  Reopen();
  const auto state = store_->Load();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->revision(), 1u);
  EXPECT_EQ(state->term(), 3u);
  ASSERT_EQ(state->jobs_size(), 2);
  EXPECT_EQ(state->jobs(0).job().name(), "eval");
  EXPECT_EQ(state->jobs(1).job().uid(), 5u);
  EXPECT_EQ(state->jobs(1).conformance_digest(), "d");
  ASSERT_EQ(state->views_size(), 1);
  EXPECT_EQ(state->views(0).view().number(), 9u);
  ASSERT_EQ(state->workers_size(), 1);
  EXPECT_EQ(state->workers(0).state(), v1::WorkerStatus::DEAD);
  ASSERT_EQ(state->bad_records_size(), 1);
  ASSERT_EQ(state->bad_records(0).records_size(), 2);
  EXPECT_EQ(state->bad_records(0).records(0).record(), 2u);
  EXPECT_EQ(state->bad_records(0).records(1).record(), 4u);
  EXPECT_EQ(state->bad_records(0).records(1).reason(), "wrong CRC");
  EXPECT_EQ(state->bad_records(0).records(1).message(), "record 4");
  ASSERT_EQ(state->decisions_size(), 1);
  std::vector<uint64_t> decided;
  for (const v1::BadRecord& record : state->decisions(0).records()) {
    decided.push_back(record.record());
    EXPECT_EQ(record.by_reader(), record.record() == 3);
  }
  EXPECT_THAT(decided, ::testing::ElementsAre(19, 3, 17, 5));  // in the order of the decisions
}

TEST_P(StoreTest, DeletingAJobDeletesItsViewAndItsBadRecords) {
  ASSERT_EQ(support::CommitFacts(store_.get(), SomeEvents(), 0).kind, CommitOutcome::kStored);
  std::vector<v1::StoreEvent> events(2);
  events[0].set_delete_job("train");
  events[1].set_delete_worker("a");
  EXPECT_EQ(support::CommitFacts(store_.get(), events, 1).kind, CommitOutcome::kStored);
  const auto state = *store_->Load();
  EXPECT_EQ(state.jobs_size(), 1);
  EXPECT_EQ(state.views_size() + state.workers_size() + state.bad_records_size() + state.decisions_size(), 0);
}

TEST_P(StoreTest, KeysAndRevocationsStayUntilTheyAreDeleted) {
  std::vector<v1::StoreEvent> puts(4);
  for (int i : {0, 1}) {
    puts[i].mutable_put_ticket_key()->set_name(i == 0 ? "old" : "new");
    puts[i].mutable_put_ticket_key()->set_signing_key(std::string(32, '\0'));
  }
  for (int i : {2, 3}) {
    puts[i].mutable_put_revocation()->set_name("alice");
    puts[i].mutable_put_revocation()->set_until(i);
  }
  ASSERT_EQ(support::CommitFacts(store_.get(), puts, 0).kind, CommitOutcome::kStored);
  Reopen();
  auto state = *store_->Load();
  ASSERT_EQ(state.ticket_keys_size(), 2);
  EXPECT_EQ(state.ticket_keys(0).signing_key().size(), 32u);
  ASSERT_EQ(state.revocations_size(), 1);
  EXPECT_EQ(state.revocations(0).until(), 3);
  std::vector<v1::StoreEvent> deletes(2);
  deletes[0].set_delete_ticket_key("old");
  deletes[1].set_delete_revocation("alice");
  ASSERT_EQ(support::CommitFacts(store_.get(), deletes, 1).kind, CommitOutcome::kStored);
  Reopen();
  state = *store_->Load();
  ASSERT_EQ(state.ticket_keys_size(), 1);
  EXPECT_EQ(state.ticket_keys(0).name(), "new");
  EXPECT_EQ(state.revocations_size(), 0);
}

TEST_P(StoreTest, TheLastEventsOfEachKindAndOfAllStay) {
  uint64_t number = 0;
  const auto add = [&number](v1::HistoryEvent::Kind kind, const std::string& job, size_t count) {
    std::vector<v1::StoreEvent> events(count);
    for (v1::StoreEvent& event : events) {
      event.mutable_add_history()->set_number(++number);
      event.mutable_add_history()->set_kind(kind);
      event.mutable_add_history()->set_job(job);
    }
    return events;
  };
  ASSERT_EQ(support::CommitFacts(store_.get(), add(v1::HistoryEvent::SUBMITTED, "train", 1), 0).kind,
            CommitOutcome::kStored);
  ASSERT_EQ(support::CommitFacts(store_.get(), add(v1::HistoryEvent::VIEW, "train", kMostEventsOfKey + 2), 1).kind,
            CommitOutcome::kStored);
  std::vector<v1::StoreEvent> remove(1);
  remove[0].set_delete_job("train");  // its events stay
  ASSERT_EQ(support::CommitFacts(store_.get(), remove, 2).kind, CommitOutcome::kStored);
  Reopen();
  auto state = *store_->Load();
  ASSERT_EQ(state.history_size(), static_cast<int>(kMostEventsOfKey) + 1);
  EXPECT_EQ(state.history(0).kind(), v1::HistoryEvent::SUBMITTED);
  EXPECT_EQ(state.history(1).number(), 4u);  // the two oldest views are gone
  EXPECT_EQ(state.history(state.history_size() - 1).number(), number);
  uint64_t revision = 3;
  for (size_t job = 0; job < kMostEvents / kMostEventsOfKey; ++job) {
    const auto events = add(v1::HistoryEvent::VIEW, "job-" + std::to_string(job), kMostEventsOfKey);
    ASSERT_EQ(support::CommitFacts(store_.get(), events, revision++).kind, CommitOutcome::kStored);
  }
  Reopen();
  state = *store_->Load();
  ASSERT_EQ(state.history_size(), static_cast<int>(kMostEvents));
  EXPECT_EQ(state.history(0).number(), number - kMostEvents + 1);
}

TEST_P(StoreTest, PiecesStayWhileAJobNamesThem) {
  uint64_t revision = 0;
  // Commits the facts and returns the stored pieces.
  const auto commit = [&](const std::vector<v1::StoreEvent>& facts) {
    EXPECT_EQ(support::CommitFacts(store_.get(), facts, revision++).kind, CommitOutcome::kStored);
    std::vector<std::string> names;
    const v1::StoredState state = *store_->Load();
    for (const v1::StoredPiece& piece : state.pieces()) {
      EXPECT_EQ(piece.data(), "data of " + piece.name());
      names.push_back(piece.name());
    }
    return names;
  };
  const auto put_piece = [](const std::string& name) {
    v1::StoreEvent fact;
    fact.mutable_put_piece()->set_name(name);
    fact.mutable_put_piece()->set_data("data of " + name);
    return fact;
  };
  const auto put_job = [](const std::string& name, const std::vector<std::string>& pieces) {
    v1::StoreEvent fact;
    fact.mutable_put_job()->mutable_job()->set_name(name);
    fact.mutable_put_job()->mutable_pieces()->Add(pieces.begin(), pieces.end());
    return fact;
  };
  const auto delete_job = [](const std::string& name) {
    v1::StoreEvent fact;
    fact.set_delete_job(name);
    return fact;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(commit({put_piece("p"), put_piece("q"), put_job("a", {"p", "q"}), put_job("b", {"q"})}),
              ElementsAre("p", "q"));
  EXPECT_THAT(commit({put_job("a", {"p", "q"})}), ElementsAre("p", "q"));  // the job changes
  EXPECT_THAT(commit({delete_job("a")}), ElementsAre("q"));
  // A job takes over a piece that another one leaves, in one commit.
  EXPECT_THAT(commit({put_piece("q"), delete_job("b"), put_job("b", {"q"})}), ElementsAre("q"));
  EXPECT_THAT(commit({put_piece("r"), put_job("b", {"r"})}), ElementsAre("r"));
  EXPECT_THAT(commit({delete_job("b")}), ElementsAre());
}

TEST_P(StoreTest, ACommitOnAnotherRevisionStoresNothing) {
  ASSERT_EQ(support::CommitFacts(store_.get(), SomeEvents(), 0).kind, CommitOutcome::kStored);
  std::vector<v1::StoreEvent> events(1);
  events[0].set_begin_term(8);
  const CommitOutcome superseded = support::CommitFacts(store_.get(), events, 0);
  EXPECT_EQ(superseded.kind, CommitOutcome::kSuperseded);
  EXPECT_THAT(std::string(superseded.why.message()), HasSubstr("expected 0"));
  EXPECT_EQ(store_->Load()->term(), 3u);
  EXPECT_EQ(store_->Load()->revision(), 1u);
}

TEST_P(StoreTest, ACommitIsSettledByItsId) {
  const StoreCommit first = support::CommitOf(SomeEvents(), 0);
  ASSERT_EQ(support::CommitAndWait(store_.get(), first).kind, CommitOutcome::kStored);
  EXPECT_EQ(store_->Load()->commit_id(), first.id);
  EXPECT_EQ(support::SettleAndWait(store_.get(), first.id, 0).kind, CommitOutcome::kStored);
  const CommitOutcome lost = support::SettleAndWait(store_.get(), "lost", 1);
  EXPECT_EQ(lost.kind, CommitOutcome::kNotStored);
  EXPECT_FALSE(lost.why.ok());
  // Another writer's commit is the last one.
  const CommitOutcome superseded = support::SettleAndWait(store_.get(), "lost", 0);
  EXPECT_EQ(superseded.kind, CommitOutcome::kSuperseded);
  EXPECT_FALSE(superseded.why.ok());
  Reopen();
  EXPECT_EQ(support::SettleAndWait(store_.get(), first.id, 0).kind, CommitOutcome::kStored);
  EXPECT_EQ(store_->Load()->revision(), 1u);
}

TEST_P(StoreTest, AnEventWithoutContentIsAnError) {
  const CommitOutcome rejected = support::CommitFacts(store_.get(), std::vector<v1::StoreEvent>(1), 0);
  EXPECT_EQ(rejected.kind, CommitOutcome::kNotStored);
  EXPECT_FALSE(rejected.why.ok());
  EXPECT_EQ(store_->Load()->revision(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Sqlite" : "InMemory"; });

}  // namespace
}  // namespace penstock::coordinator
