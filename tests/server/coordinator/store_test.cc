// The stores: SQLite's and the one in memory have the same contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime/thread_pool.h"
#include "pipeline/sources/shard_index.h"
#include "server/coordinator/history_list.h"
#include "server/coordinator/store/index_blobs.h"
#include "server/coordinator/store/sqlite_store.h"
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

std::string Text(const absl::Status& status) { return std::string(status.message()); }

std::vector<v1::StoreEvent> SomeEvents() {
  std::vector<v1::StoreEvent> events(8);
  events[0].set_begin_term(3);
  events[1].mutable_put_job()->mutable_job()->set_name("train");
  events[1].mutable_put_job()->mutable_job()->set_uid(5);
  events[1].mutable_put_job()->set_conformance_digest("d");
  events[2].mutable_put_view()->set_job("train");
  events[2].mutable_put_view()->mutable_view()->set_number(9);
  events[3].mutable_put_worker()->mutable_registration()->set_id("a");
  events[3].mutable_put_worker()->set_state(v1::WorkerStatus::DEAD);
  events[4].mutable_add_bad_records()->set_job("train");
  for (uint64_t number : {4, 2, 4}) {
    v1::BadRecord* record = events[4].mutable_add_bad_records()->add_records();
    record->set_record(number);
    record->set_reason("wrong CRC");
    record->set_message("record " + std::to_string(number));
  }
  events[5].mutable_put_job()->mutable_job()->set_name("eval");
  for (uint64_t begin : {0, 2}) {
    v1::StoredDecisions* decisions = events[6 + begin / 2].mutable_add_decisions();
    decisions->set_job("train");
    decisions->set_begin(begin);
    for (uint64_t number : {19 - begin, 3 + begin}) {
      v1::BadRecord* record = decisions->add_records();
      record->set_record(number);
      record->set_by_reader(number == 3);
    }
  }
  return events;
}

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
  EXPECT_THAT(Text(superseded.why), HasSubstr("expected 0"));
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

class SqliteFileTest : public ::testing::Test {
 protected:
  SqliteFileTest() : dir_(fs::path(::testing::TempDir()) / ("penstock-sqlite-" + std::to_string(getpid()))) {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  ~SqliteFileTest() override { fs::remove_all(dir_); }
  std::string path() const { return (dir_ / "coordinator.db").string(); }
  fs::path dir_;
  ThreadPool disk_{1, "store"};
};

TEST_F(SqliteFileTest, AFileThatIsNoDatabaseIsNamedWithARemedy) {
  std::ofstream(path()) << "this is a text file, and long enough to pass for a header of SQLite "
                        << std::string(4096, '.');
  const auto opened = OpenSqliteStore(path(), &disk_);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr(path()));
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("move it away"));
}

TEST_F(SqliteFileTest, ADamagedStoreIsNamed) {
  {
    auto store = OpenSqliteStore(path(), &disk_);
    ASSERT_TRUE(store.ok());
    ASSERT_EQ(support::CommitFacts(store->get(), SomeEvents(), 0).kind, CommitOutcome::kStored);
  }
  // Overwrites all pages except the first, which contains the file's header.
  const auto size = fs::file_size(path());
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(size - 4096, '\xa5');
  file.close();
  auto opened = OpenSqliteStore(path(), &disk_);
  const absl::Status status = opened.ok() ? (*opened)->Load().status() : opened.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(path()));
}

TEST_F(SqliteFileTest, AForeignDatabaseIsRejected) {
  { ASSERT_TRUE(OpenSqliteStore(path(), &disk_).ok()); }
  {
    // application_id is at byte 68 of the header (https://www.sqlite.org/fileformat.html).
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(68);
    file.put('X');
  }
  const absl::Status status = OpenSqliteStore(path(), &disk_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another program"));
}

TEST_F(SqliteFileTest, AStoreOfVersion1KeepsItsBadRecords) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  const char* version1 =
      "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
      "INSERT INTO meta VALUES('revision', 5), ('term', 2);"
      "CREATE TABLE jobs(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
      "CREATE TABLE views(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
      "CREATE TABLE workers(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
      "CREATE TABLE bad_records(job TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY(job, record)) WITHOUT ROWID;"
      "INSERT INTO bad_records VALUES(CAST('train' AS BLOB), 7);"
      "PRAGMA application_id=1346719315; PRAGMA user_version=1;";
  EXPECT_EQ(sqlite3_exec(db, version1, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  for (uint64_t revision : {5, 6}) {
    auto store = OpenSqliteStore(path(), &disk_);
    ASSERT_TRUE(store.ok()) << store.status();
    const auto state = (*store)->Load();
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(state->revision(), revision);
    ASSERT_EQ(state->bad_records_size(), 1);
    EXPECT_EQ(state->bad_records(0).records(0).record(), 7u);
    v1::StoreEvent event;
    event.mutable_add_bad_records()->set_job("train");
    event.mutable_add_bad_records()->add_records()->set_record(8);
    EXPECT_EQ(support::CommitFacts(store->get(), {event}, revision).kind, CommitOutcome::kStored);
  }
}

TEST_F(SqliteFileTest, AStoreOfVersion2IsReadAndStoresDecisions) {
  const char* const kToVersion2 =
      "DROP TABLE decisions; DROP TABLE pieces; DROP TABLE job_pieces; DROP TABLE ticket_keys; DROP TABLE revocations; "
      "DROP TABLE history; PRAGMA user_version=2;";
  {
    auto store = OpenSqliteStore(path(), &disk_);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_EQ(support::CommitFacts(store->get(), SomeEvents(), 0).kind, CommitOutcome::kStored);
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, kToVersion2, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  for (uint64_t revision : {1, 2}) {
    auto store = OpenSqliteStore(path(), &disk_);
    ASSERT_TRUE(store.ok()) << store.status();
    const auto state = (*store)->Load();
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(state->bad_records_size(), 1);
    ASSERT_EQ(state->decisions_size(), static_cast<int>(revision) - 1);
    v1::StoreEvent event;
    event.mutable_add_decisions()->set_job("train");
    event.mutable_add_decisions()->set_begin(revision - 1);
    event.mutable_add_decisions()->add_records()->set_record(8);
    EXPECT_EQ(support::CommitFacts(store->get(), {event}, revision).kind, CommitOutcome::kStored);
  }
}

TEST_F(SqliteFileTest, AMissingFolderIsNamed) {
  const auto opened = OpenSqliteStore((dir_ / "no" / "where.db").string(), &disk_);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("no/where.db"));
}

// During its life, SQLite's writes fail with `error`, through its table of system calls
// (https://www.sqlite.org/c3ref/vfs.html).
class FailingWrites {
 public:
  explicit FailingWrites(int error) : vfs_(sqlite3_vfs_find(nullptr)) {
    error_ = error;
    Set("write", reinterpret_cast<sqlite3_syscall_ptr>(&Write), &write_);
    Set("pwrite", reinterpret_cast<sqlite3_syscall_ptr>(&WriteAt), &pwrite_);
    Set("pwrite64", reinterpret_cast<sqlite3_syscall_ptr>(&WriteAt), &pwrite64_);
  }
  ~FailingWrites() {
    Set("write", write_, nullptr);
    Set("pwrite", pwrite_, nullptr);
    Set("pwrite64", pwrite64_, nullptr);
  }

 private:
  static ssize_t Write(int, const void*, size_t) {
    errno = error_;
    return -1;
  }
  static ssize_t WriteAt(int, const void*, size_t, off64_t) {
    errno = error_;
    return -1;
  }
  void Set(const char* call, sqlite3_syscall_ptr function, sqlite3_syscall_ptr* before) {
    if (before != nullptr) *before = vfs_->xGetSystemCall(vfs_, call);
    vfs_->xSetSystemCall(vfs_, call, function);
  }

  static int error_;
  sqlite3_vfs* vfs_;
  sqlite3_syscall_ptr write_ = nullptr, pwrite_ = nullptr, pwrite64_ = nullptr;
};
int FailingWrites::error_ = 0;

// During its life, SQLite's syncs fail with an I/O error.
class FailingSyncs {
 public:
  FailingSyncs() { failing_ = true; }
  ~FailingSyncs() { failing_ = false; }
  static bool failing() { return failing_; }

 private:
  static std::atomic<bool> failing_;
};
std::atomic<bool> FailingSyncs::failing_ = false;

TEST_F(SqliteFileTest, AFullDiskIsReportedWithARemedyAndTheStoreWorksAgainAfterwards) {
  auto store = OpenSqliteStore(path(), &disk_);
  ASSERT_TRUE(store.ok()) << store.status();
  for (const int error : {ENOSPC, EDQUOT}) {
    FailingWrites full(error);
    const CommitOutcome refused = support::CommitFacts(store->get(), SomeEvents(), 0);
    EXPECT_EQ(refused.kind, CommitOutcome::kNotStored);
    EXPECT_EQ(refused.why.code(), absl::StatusCode::kResourceExhausted) << refused.why;
    EXPECT_THAT(Text(refused.why), HasSubstr(path()));
    EXPECT_THAT(Text(refused.why), HasSubstr("make room on that disk"));
  }
  {
    FailingWrites broken(EIO);
    const CommitOutcome refused = support::CommitFacts(store->get(), SomeEvents(), 0);
    EXPECT_EQ(refused.kind, CommitOutcome::kNotStored);
    EXPECT_EQ(refused.why.code(), absl::StatusCode::kInternal);
  }
  EXPECT_EQ(support::CommitFacts(store->get(), SomeEvents(), 0).kind, CommitOutcome::kStored);
}

TEST_F(SqliteFileTest, ACommitWhoseSyncFailsIsUnknownUntilTheDiskAcceptsWrites) {
  auto store = OpenSqliteStore(path(), &disk_);
  ASSERT_TRUE(store.ok()) << store.status();
  StoreCommit commit = support::CommitOf(SomeEvents(), 0);
  {
    FailingSyncs broken;
    EXPECT_EQ(support::CommitAndWait(store->get(), commit).kind, CommitOutcome::kUnknown);
    EXPECT_EQ(support::SettleAndWait(store->get(), commit.id, 0).kind, CommitOutcome::kUnknown);
  }
  EXPECT_EQ(support::SettleAndWait(store->get(), commit.id, 0).kind, CommitOutcome::kNotStored);
  EXPECT_EQ((*store)->Load()->jobs_size(), 0);
  EXPECT_EQ(support::CommitAndWait(store->get(), commit).kind, CommitOutcome::kStored);
}

std::string BlobOf(uint64_t hash, int records) {
  sources::ShardIndex index;
  index.content_hash = hash;
  for (int i = 0; i < records; ++i) index.AppendRecord(100 + i % 7);
  index.file_size = index.stream_size();
  return index.Serialize();
}

TEST_F(SqliteFileTest, BlobsAreKeptByContentAcrossRestarts) {
  const std::string folder = (dir_ / "indexes").string();
  const std::string blob = BlobOf(0xabc, 50);
  {
    auto blobs = IndexBlobs::Open(folder, {});
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    ASSERT_TRUE((*blobs)->Put(0xabc, blob).ok());
    ASSERT_TRUE((*blobs)->Put(0xabc, blob).ok());
    EXPECT_EQ((*blobs)->total_bytes(), blob.size());
  }
  // The rest of a blob that a killed coordinator was writing.
  const std::string half = folder + "/0000000000000abd.psidx.penstock-tmp.a1B2c3";
  ASSERT_TRUE(WriteFileAtomically(half, "half").ok());
  auto blobs = IndexBlobs::Open(folder, {});
  EXPECT_FALSE(StatFile(half).ok());
  EXPECT_EQ((*blobs)->total_bytes(), blob.size());
  EXPECT_EQ(*(*blobs)->Get(0xabc), blob);
  EXPECT_EQ((*blobs)->Get(0xabd).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SqliteFileTest, ABlobThatDoesNotMatchItsNameIsRejected) {
  auto blobs = IndexBlobs::Open((dir_ / "indexes").string(), {});
  EXPECT_EQ((*blobs)->Put(1, BlobOf(2, 5)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*blobs)->Put(1, "no index").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*blobs)->total_bytes(), 0u);
}

TEST_F(SqliteFileTest, BlobsStayWithinTheirLimits) {
  const std::string blob = BlobOf(1, 500);
  IndexBlobs::Limits limits;
  limits.blob_bytes = blob.size();
  limits.total_bytes = 3 * blob.size() + blob.size() / 2;
  auto blobs = IndexBlobs::Open((dir_ / "indexes").string(), limits);
  for (uint64_t hash = 1; hash <= 8; ++hash) {
    ASSERT_TRUE((*blobs)->Put(hash, BlobOf(hash, 500)).ok());
    EXPECT_LE((*blobs)->total_bytes(), limits.total_bytes);
    EXPECT_TRUE((*blobs)->Get(hash).ok());
  }
  EXPECT_EQ((*blobs)->Put(9, BlobOf(9, 5000)).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace

bool SyncsFail() { return FailingSyncs::failing(); }

}  // namespace penstock::coordinator

// Replaces libc's function, which SQLite calls.
extern "C" int fdatasync(int fd) {
  if (!penstock::coordinator::SyncsFail()) return static_cast<int>(syscall(SYS_fdatasync, fd));
  errno = EIO;
  return -1;
}
