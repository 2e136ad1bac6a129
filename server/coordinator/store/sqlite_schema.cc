#include "server/coordinator/store/sqlite_schema.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "base/owned_fd.h"
#include "base/status_macros.h"
#include "penstock/v1/store.pb.h"
#include "server/coordinator/snapshot_pieces.h"

namespace penstock::coordinator {
namespace {

// "PENS": SQLite's application_id, which identifies foreign databases
// (https://www.sqlite.org/pragma.html#pragma_application_id).
constexpr int kApplicationId = 0x50454e53;
constexpr int64_t kSchemaVersion = 6;
// The oldest schema whose release reads and writes this file without loss. A release keeps the tables and the fields of
// jobs (v1::Job) that it does not know, so these may be added; a new column may not. The table meta has the number.
constexpr int64_t kReadableFrom = 4;
constexpr char kReadableFromQuery[] = "SELECT value FROM meta WHERE key='readable_from'";

constexpr char kTables[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('revision', 0), ('term', 0);"
    "CREATE TABLE jobs(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE views(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE workers(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE bad_records(job TEXT NOT NULL, record INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(job, "
    "record)) "
    "WITHOUT ROWID;";

// Version 1 stored only the numbers of bad records.
constexpr char kFromVersion1[] = "ALTER TABLE bad_records ADD COLUMN data BLOB NOT NULL DEFAULT x'';";

// Added in version 3. The number is the index of the decision among those of its job.
constexpr char kDecisionsTable[] =
    "CREATE TABLE decisions(job TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(job, number)) "
    "WITHOUT ROWID;";

// Added in version 4. Jobs contained their shards before.
constexpr char kPiecesTables[] =
    "CREATE TABLE pieces(name TEXT PRIMARY KEY, data BLOB NOT NULL);"
    "CREATE TABLE job_pieces(job TEXT NOT NULL, number INTEGER NOT NULL, piece TEXT NOT NULL, PRIMARY KEY(job, number))"
    " WITHOUT ROWID;";

// Added in version 5.
constexpr char kTicketTables[] =
    "CREATE TABLE ticket_keys(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE revocations(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;";

// Added in version 6. The key is HistoryKey of the event.
constexpr char kHistoryTable[] =
    "CREATE TABLE history(number INTEGER PRIMARY KEY, key BLOB NOT NULL, data BLOB NOT NULL);"
    "CREATE INDEX history_by_key ON history(key, number);";

std::string SetVersion() {
  return absl::StrCat("INSERT OR REPLACE INTO meta VALUES('readable_from', ", kReadableFrom,
                      ");PRAGMA user_version=", kSchemaVersion, ";COMMIT");
}

std::string CopyPath(const SqliteFile& file, int64_t version) { return absl::StrCat(file.path(), ".schema-", version); }

// Copies the database, with what its log contains, to CopyPath. Replaces an earlier copy.
absl::Status CopyAside(SqliteFile* file, int64_t version) {
  const std::string copy = CopyPath(*file, version), part = copy + ".part";
  if (unlink(part.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, absl::StrCat("removing ", part));
  PS_RETURN_IF_ERROR(file->Run(absl::StrCat("VACUUM INTO '", absl::StrReplaceAll(part, {{"'", "''"}}), "'")));
  const OwnedFd written(open(part.c_str(), O_RDONLY | O_CLOEXEC));
  if (written.get() < 0 || fchmod(written.get(), 0600) != 0 || fsync(written.get()) != 0)
    return ErrnoStatus(errno, absl::StrCat("writing ", part));
  if (rename(part.c_str(), copy.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat("writing ", copy));
  return absl::OkStatus();
}

// Moves the shards of each job into pieces.
absl::Status MoveShards(SqliteFile* file) {
  std::vector<std::pair<std::string, v1::StoredJob>> jobs;
  PS_RETURN_IF_ERROR(file->Each("SELECT name, data FROM jobs", [&](const SqliteRow& row) {
    auto& [name, job] = jobs.emplace_back();
    name = std::string(row.Bytes(0));
    if (job.ParseFromString(std::string(row.Bytes(1)))) return absl::OkStatus();
    return file->Damaged(absl::StrCat("table jobs, entry ", name, " cannot be parsed"));
  }));
  for (auto& [name, job] : jobs) {
    v1::Snapshot shards;
    shards.mutable_shards()->Swap(job.mutable_job()->mutable_snapshot()->mutable_shards());
    int64_t number = 0;
    for (const SnapshotPiece& piece : CutIntoPieces(shards.SerializeAsString())) {
      PS_RETURN_IF_ERROR(file->Write("INSERT OR IGNORE INTO pieces VALUES(?, ?)", {piece.name, piece.data}));
      PS_RETURN_IF_ERROR(file->Write("INSERT INTO job_pieces VALUES(?, ?, ?)", {name, number++, piece.name}));
      job.add_pieces(piece.name);
    }
    PS_RETURN_IF_ERROR(file->Write("UPDATE jobs SET data=? WHERE name=?", {job.SerializeAsString(), name}));
  }
  return absl::OkStatus();
}

absl::Status Migrate(SqliteFile* file, int64_t version) {
  PS_RETURN_IF_ERROR(CopyAside(file, version));
  PS_RETURN_IF_ERROR(
      file->Run(absl::StrCat("BEGIN IMMEDIATE;", version < 2 ? kFromVersion1 : "", version < 3 ? kDecisionsTable : "",
                             version < 4 ? kPiecesTables : "", version < 5 ? kTicketTables : "", kHistoryTable)));
  absl::Status migrated = version < 4 ? MoveShards(file) : absl::OkStatus();
  if (migrated.ok()) migrated = file->Run(SetVersion());
  if (!migrated.ok()) {
    file->RollBack();
    return migrated;
  }
  spdlog::info("{} is migrated from schema {} to {}; a copy from before is {}", file->path(), version, kSchemaVersion,
               CopyPath(*file, version));
  return absl::OkStatus();
}

// Decides whether this release may use a file that a newer one has written. Otherwise returns FailedPrecondition, which
// names the newest copy that this release can read.
absl::Status CheckNewer(SqliteFile* file, int64_t version) {
  PS_ASSIGN_OR_RETURN(const std::string readable_from, file->Bytes(kReadableFromQuery));
  int64_t oldest = 0;
  if (absl::SimpleAtoi(readable_from, &oldest) && oldest <= kSchemaVersion) {
    spdlog::info("{} has schema {} of a newer release; this release reads and writes its part, schema {}", file->path(),
                 version, kSchemaVersion);
    return absl::OkStatus();
  }
  std::string copy;
  for (int64_t old = kSchemaVersion; old > 0 && copy.empty(); --old) {
    if (access(CopyPath(*file, old).c_str(), R_OK) == 0) copy = CopyPath(*file, old);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      file->path(), " has schema ", version, " of a newer release; this release reads schema ", kSchemaVersion,
      "; run the newer release, ",
      copy.empty() ? "or give another state_dir"
                   : absl::StrCat("or go back to the copy from before its migration, ", copy, " (docs/upgrading.md)")));
}

}  // namespace

absl::Status OpenWithSchema(SqliteFile* file) {
  PS_RETURN_IF_ERROR(file->Open());
  // The first statement that reads the file, so it finds a damaged or foreign one.
  PS_ASSIGN_OR_RETURN(const int64_t tables, file->Number("SELECT count(*) FROM sqlite_master"));
  PS_ASSIGN_OR_RETURN(const int64_t application, file->Number("PRAGMA application_id"));
  PS_ASSIGN_OR_RETURN(const int64_t version, file->Number("PRAGMA user_version"));
  if (tables > 0 && application != kApplicationId) {
    return absl::FailedPreconditionError(absl::StrCat(
        file->path(), " is a database of another program, not the coordinator's store; give another state_dir"));
  }
  if (version > kSchemaVersion) PS_RETURN_IF_ERROR(CheckNewer(file, version));
  // A crash of the machine must not lose acknowledged commits: WAL with FULL syncs each commit.
  PS_RETURN_IF_ERROR(file->Run("PRAGMA journal_mode=WAL"));
  PS_RETURN_IF_ERROR(file->Run("PRAGMA synchronous=FULL"));
  if (tables == 0) {
    return file->Run(absl::StrCat("BEGIN IMMEDIATE;", kTables, kDecisionsTable, kPiecesTables, kTicketTables,
                                  kHistoryTable, "PRAGMA application_id=", kApplicationId, ";", SetVersion()));
  }
  PS_ASSIGN_OR_RETURN(const std::string check, file->Bytes("PRAGMA quick_check(1)"));
  if (check != "ok") return file->Damaged(check);
  return version >= kSchemaVersion ? absl::OkStatus() : Migrate(file, version);
}

}  // namespace penstock::coordinator
