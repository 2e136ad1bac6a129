// The file of SQLite's store: damage, older versions, full disks; and the files of indexes.
#include "server/coordinator/store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/runtime/thread_pool.h"
#include "pipeline/sources/shard_index.h"
#include "server/coordinator/store/index_blobs.h"
#include "tests/server/coordinator/some_events.h"
#include "tests/support/commit_facts.h"

namespace penstock::coordinator {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

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
    EXPECT_THAT(std::string(refused.why.message()), HasSubstr(path()));
    EXPECT_THAT(std::string(refused.why.message()), HasSubstr("make room on that disk"));
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

TEST_F(SqliteFileTest, ABlobThatSeveralWorkersStoreAtOnceIsKeptOnce) {
  auto blobs = IndexBlobs::Open((dir_ / "indexes").string(), {});
  for (uint64_t hash = 1; hash <= 20; ++hash) {
    const std::string blob = BlobOf(hash, 50);
    const uint64_t before = (*blobs)->total_bytes();
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; ++i) workers.emplace_back([&] { EXPECT_TRUE((*blobs)->Put(hash, blob).ok()); });
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ((*blobs)->total_bytes() - before, blob.size());
  }
}

TEST_F(SqliteFileTest, ContentIsFoundWhileABlobOfAnyStateIsKept) {
  const std::string first = BlobOf(1, 500), small = BlobOf(2, 5);
  sources::ShardIndex index = *sources::ShardIndex::Parse(first);
  index.mtime_ns += 1;  // a copy has another time
  const std::string copy = index.Serialize();
  IndexBlobs::Limits limits;
  limits.total_bytes = first.size() + copy.size();
  auto blobs = IndexBlobs::Open((dir_ / "indexes").string(), limits);
  for (const std::string& blob : {first, copy}) ASSERT_TRUE((*blobs)->Put(1, blob).ok());
  for (const auto& entry : fs::directory_iterator(dir_ / "indexes")) {
    const bool is_first = entry.path().filename() == "0000000000000001.psidx";
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(is_first ? 2 : 1));
  }
  ASSERT_TRUE((*blobs)->Put(2, small).ok());
  EXPECT_EQ((*blobs)->total_bytes(), copy.size() + small.size());
  EXPECT_EQ((*blobs)->Get(1, index.file_info()).value_or(""), copy);
  EXPECT_EQ((*blobs)->Get(1).value_or(""), copy);
}

TEST_F(SqliteFileTest, BlobsAreRemovedInAllStatesOfTheirFiles) {
  auto blobs = IndexBlobs::Open((dir_ / "indexes").string(), {});
  const std::string one = BlobOf(1, 5), other = BlobOf(2, 7);
  sources::ShardIndex copy = *sources::ShardIndex::Parse(one);
  copy.mtime_ns += 1;  // a copy has another time
  for (const std::string& blob : {one, copy.Serialize()}) ASSERT_TRUE((*blobs)->Put(1, blob).ok());
  ASSERT_TRUE((*blobs)->Put(2, other).ok());
  EXPECT_EQ(*(*blobs)->Remove({1, 3}), one.size() + copy.Serialize().size());
  EXPECT_TRUE(absl::IsNotFound((*blobs)->Get(1).status()));
  EXPECT_EQ((*blobs)->total_bytes(), other.size());
  EXPECT_EQ(*(*blobs)->Remove({1, 3}), 0u);
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
