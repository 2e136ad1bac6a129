// tests/golden/store-0.2.0.sql is a store of schema 3, which a program of version 0.2.0 wrote, as the output of
// `sqlite3 coordinator.db .dump`: the job "train" (READY, with a replacement, a view, bad records and decisions), the
// job "eval" (CANCELLED) and two workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/runtime/thread_pool.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/coordinator/store/sqlite_store.h"
#include "tests/server/coordinator/apply_and_store.h"
#include "tests/support/commit_facts.h"
#include "tests/support/temp_folder.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;

constexpr char kRecorded[] = "tests/golden/store-0.2.0.sql";

class StoreMigration : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto sql = ReadWholeFile(kRecorded);
    ASSERT_TRUE(sql.ok()) << sql.status();
    Run(path_, *sql);
  }
  static void Run(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  // The first value of the result.
  static std::string Query(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    std::string value;
    const auto take = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0] == nullptr ? "" : values[0];
      return 1;
    };
    sqlite3_exec(db, sql.c_str(), take, &value, nullptr);
    sqlite3_close(db);
    return value;
  }

  support::TempFolder folder_;
  const std::string path_ = folder_.File("coordinator's.db");
  const std::string copy_ = path_ + ".schema-3";
  ThreadPool disk_{1, "store"};
};

TEST_F(StoreMigration, AStoreOf020IsMigratedWithAllFacts) {
  for (uint64_t revision : {3, 4}) {  // migrated once
    auto store = OpenSqliteStore(path_, &disk_);
    ASSERT_TRUE(store.ok()) << store.status();
    const absl::StatusOr<v1::StoredState> stored = (*store)->Load();
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(stored->revision(), revision);
    EXPECT_EQ(stored->term(), 3u);
    ASSERT_EQ(stored->jobs_size(), 2);
    for (const v1::StoredJob& job : stored->jobs()) {
      EXPECT_EQ(job.job().snapshot().shards_size(), 0);
      EXPECT_EQ(job.pieces_size(), 1);
    }
    EXPECT_EQ(stored->pieces_size(), 2);
    EXPECT_EQ(stored->views_size(), 1);
    ASSERT_EQ(stored->workers_size(), 2);
    EXPECT_EQ(stored->workers(1).state(), v1::WorkerStatus::DEAD);
    ASSERT_EQ(stored->bad_records_size(), 1);
    EXPECT_EQ(stored->bad_records(0).records_size(), 2);
    ASSERT_EQ(stored->decisions_size(), 1);
    EXPECT_EQ(stored->decisions(0).records(0).record(), 40u);
    EXPECT_EQ(stored->decisions(0).records(1).record(), 9u);

    const auto state = CoordinatorState::Restore({}, 0, 4, *stored);
    ASSERT_TRUE(state.ok()) << state.status();
    const v1::Job train = state->FindJob("train").value_or(v1::Job());
    EXPECT_EQ(train.state(), v1::READY);
    ASSERT_EQ(train.snapshot().shards_size(), 40);
    EXPECT_EQ(train.snapshot().shards(39).path(), "train/shard-00039.tfrecord");
    EXPECT_EQ(train.snapshot().shards(39).size(), 100039u);
    EXPECT_EQ(train.view().number(), 4u);
    EXPECT_EQ(state->FindJob("eval").value_or(v1::Job()).snapshot().shards_size(), 3);
    v1::StoreEvent remove;
    remove.set_delete_worker("nobody");
    EXPECT_EQ(support::CommitFacts(store->get(), {remove}, revision).kind, CommitOutcome::kStored);
  }
  disk_.Stop();
}

TEST_F(StoreMigration, ACopyWithTheOldTablesIsKept) {
  ASSERT_TRUE(OpenSqliteStore(path_, &disk_).ok());
  for (const char* sql : {"PRAGMA user_version", "PRAGMA application_id", "PRAGMA integrity_check",
                          "SELECT hex(data) FROM jobs ORDER BY name", "SELECT sum(record) FROM bad_records",
                          "SELECT count(*) FROM decisions", "SELECT value FROM meta WHERE key='revision'"}) {
    const std::string before = folder_.File("before.db");
    std::filesystem::remove(before);
    Run(before, *ReadWholeFile(kRecorded));
    EXPECT_EQ(Query(copy_, sql), Query(before, sql)) << sql;
  }
  EXPECT_EQ(Query(copy_, "PRAGMA user_version"), "3");
  EXPECT_EQ(Query(path_, "PRAGMA user_version"), "6");
  EXPECT_FALSE(std::filesystem::exists(copy_ + ".part"));
  // The copy is a store of its own, which can be migrated too.
  auto again = OpenSqliteStore(copy_, &disk_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->Load()->jobs_size(), 2);
}

TEST_F(StoreMigration, AStoreOfVersion1IsMigratedInOneStep) {
  Run(path_, "ALTER TABLE bad_records DROP COLUMN data; DROP TABLE decisions; PRAGMA user_version=1;");
  auto store = OpenSqliteStore(path_, &disk_);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto state = CoordinatorState::Restore({}, 0, 4, *(*store)->Load());
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->FindJob("train").value_or(v1::Job()).snapshot().shards_size(), 40);
  EXPECT_EQ(Query(path_ + ".schema-1", "PRAGMA user_version"), "1");
}

TEST_F(StoreMigration, AFailedCopyPreventsTheMigration) {
  std::filesystem::create_directories(copy_ + "/in the way");
  const absl::Status status = OpenSqliteStore(path_, &disk_).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(copy_));
  EXPECT_EQ(Query(path_, "PRAGMA user_version"), "3");
  EXPECT_EQ(Query(path_, "SELECT count(*) FROM sqlite_master WHERE name='pieces'"), "0");
}

TEST_F(StoreMigration, AJobThatCannotBeParsedLeavesTheStoreUnchanged) {
  Run(path_, "UPDATE jobs SET data=x'ff' WHERE name=CAST('eval' AS BLOB)");
  const absl::Status status = OpenSqliteStore(path_, &disk_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_EQ(Query(path_, "PRAGMA user_version"), "3");
  EXPECT_EQ(Query(path_, "SELECT count(*) FROM sqlite_master WHERE name='pieces'"), "0");
}

// A later release may write a higher schema, another table, and fields of a Job that are unknown here. This release
// then runs on that store, and leaves it for the later one.
TEST_F(StoreMigration, ANewerStoreThatPermitsItIsUsedAndKeepsTheUnknownParts) {
  {
    auto store = OpenSqliteStore(path_, &disk_);
    ASSERT_TRUE(store.ok()) << store.status();
    auto stored = (*store)->Load();
    ASSERT_TRUE(stored.ok()) << stored.status();
    std::vector<v1::StoreEvent> puts;
    for (const v1::StoredJob& job : stored->jobs()) {
      *puts.emplace_back().mutable_put_job() = job;
      v1::Job* const newer = puts.back().mutable_put_job()->mutable_job();
      *newer->GetReflection()->MutableUnknownFields(newer)->AddLengthDelimited(2000) = "new";
    }
    EXPECT_EQ(support::CommitFacts(store->get(), puts, stored->revision()).kind, CommitOutcome::kStored);
  }
  Run(path_,
      "CREATE TABLE events(id INTEGER PRIMARY KEY, data BLOB); INSERT INTO events VALUES(7, x'01');"
      "PRAGMA user_version=7;");
  {
    auto store = OpenSqliteStore(path_, &disk_);
    ASSERT_TRUE(store.ok()) << store.status();
    auto stored = (*store)->Load();
    ASSERT_TRUE(stored.ok()) << stored.status();
    auto state = CoordinatorState::Restore({}, 0, 4, *stored);
    ASSERT_TRUE(state.ok()) << state.status();
    v1::CancelRequest cancel;
    cancel.set_job("train");
    std::vector<v1::StoreEvent> facts;
    Event event;
    event.request = cancel;
    ASSERT_TRUE(ApplyAndStore(&*state, event, &facts).status.ok());
    EXPECT_EQ(support::CommitFacts(store->get(), facts, stored->revision()).kind, CommitOutcome::kStored);
  }
  EXPECT_EQ(Query(path_, "PRAGMA user_version"), "7");
  EXPECT_EQ(Query(path_, "SELECT hex(data) FROM events WHERE id=7"), "01");
  // Field 2000, 3 bytes, "new".
  EXPECT_EQ(Query(path_, "SELECT count(*) FROM jobs WHERE instr(data, x'827d036e6577') > 0"), "2");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".schema-7"));
  auto store = OpenSqliteStore(path_, &disk_);
  const auto after = CoordinatorState::Restore({}, 0, 5, *(*store)->Load());
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->FindJob("train").value_or(v1::Job()).state(), v1::CANCELLED);
}

TEST_F(StoreMigration, ANewerStoreThatIsNotReadableNamesTheCopyFromBefore) {
  ASSERT_TRUE(OpenSqliteStore(path_, &disk_).ok());
  Run(path_, "UPDATE meta SET value=7 WHERE key='readable_from'; PRAGMA user_version=7;");
  const absl::Status status = OpenSqliteStore(path_, &disk_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("schema 7 of a newer release; this release reads schema 6"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("go back to the copy from before its migration, " + copy_));
  EXPECT_EQ(Query(path_, "PRAGMA user_version"), "7");
  std::filesystem::remove(copy_);
  EXPECT_THAT(std::string(OpenSqliteStore(path_, &disk_).status().message()), HasSubstr("give another state_dir"));
}

// tests/golden/store-0.3.0.sql is a store that programs of 0.3.0 wrote: "train" is READY, "eval" is cancelled, and the
// worker has left.
TEST_F(StoreMigration, AStoreOf030IsReadWithAllFacts) {
  const std::string path = folder_.File("coordinator.db");
  const auto sql = ReadWholeFile("tests/golden/store-0.3.0.sql");
  ASSERT_TRUE(sql.ok()) << sql.status();
  Run(path, *sql);
  auto store = OpenSqliteStore(path, &disk_);
  ASSERT_TRUE(store.ok()) << store.status();
  const absl::StatusOr<v1::StoredState> stored = (*store)->Load();
  ASSERT_TRUE(stored.ok()) << stored.status();
  const auto state = CoordinatorState::Restore({}, 0, 4, *stored);
  ASSERT_TRUE(state.ok()) << state.status();
  const v1::Job train = state->FindJob("train").value_or(v1::Job());
  EXPECT_EQ(train.state(), v1::READY);
  ASSERT_EQ(train.snapshot().shards_size(), 4);
  EXPECT_EQ(train.snapshot().shards(3).path(), "demo-00003-of-00004");
  EXPECT_EQ(state->FindJob("eval").value_or(v1::Job()).state(), v1::CANCELLED);
  ASSERT_EQ(stored->workers_size(), 1);
  EXPECT_EQ(stored->workers(0).state(), v1::WorkerStatus::LEFT);
  EXPECT_EQ(stored->workers(0).registration().version(), "0.3.0");
  EXPECT_EQ(stored->workers(0).registration().protocols().newest(), 1u);
}

// The previous schema has no table of events. A release of schema 5 can use the migrated file.
TEST_F(StoreMigration, EventsAreAddedToAStoreOfSchema5) {
  ASSERT_TRUE(OpenSqliteStore(path_, &disk_).ok());
  Run(path_, "DROP TABLE history; PRAGMA user_version=5;");
  auto store = OpenSqliteStore(path_, &disk_);
  ASSERT_TRUE(store.ok()) << store.status();
  v1::StoreEvent event;
  event.mutable_add_history()->set_number(1);
  const v1::StoredState stored = *(*store)->Load();
  EXPECT_EQ(stored.jobs_size(), 2);
  EXPECT_EQ(support::CommitFacts(store->get(), {event}, stored.revision()).kind, CommitOutcome::kStored);
  EXPECT_EQ((*store)->Load()->history_size(), 1);
  EXPECT_EQ(Query(path_, "PRAGMA user_version"), "6");
  EXPECT_EQ(Query(path_, "SELECT value FROM meta WHERE key='readable_from'"), "4");
}

}  // namespace
}  // namespace penstock::coordinator
