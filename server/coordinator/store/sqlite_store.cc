#include "server/coordinator/store/sqlite_store.h"

#include <sqlite3.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock {
namespace {

// "PENS": SQLite's application_id, which identifies foreign databases
// (https://www.sqlite.org/pragma.html#pragma_application_id).
constexpr int kApplicationId = 0x50454e53;
constexpr int kSchemaVersion = 3;
constexpr int kBusyTimeoutMs = 2000;

constexpr char kSchema[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('revision', 0), ('term', 0);"
    "CREATE TABLE jobs(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE views(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE workers(name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE bad_records(job TEXT NOT NULL, record INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(job, "
    "record)) "
    "WITHOUT ROWID;";

// Added in version 3. The number is the index of the decision among those of its job.
constexpr char kDecisionsTable[] =
    "CREATE TABLE decisions(job TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(job, number)) "
    "WITHOUT ROWID;";

// From version 1, which stored only the numbers of bad records.
constexpr char kFromVersion1[] = "ALTER TABLE bad_records ADD COLUMN data BLOB NOT NULL DEFAULT x'';";

// A blob, because the column would turn some ids into numbers. Older releases stored no id.
constexpr char kCommitIdQuery[] = "SELECT value FROM meta WHERE key='commit_id'";

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string path, Executor* executor) : path_(std::move(path)), executor_(executor) {}
  ~SqliteStore() override { sqlite3_close_v2(db_); }

  absl::Status Open() {
    errno = 0;
    if (sqlite3_open_v2(path_.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        nullptr) != SQLITE_OK) {
      return Error("open");
    }
    sqlite3_extended_result_codes(db_, 1);
    sqlite3_busy_timeout(db_, kBusyTimeoutMs);
    // The first statement that reads the file, so it finds a damaged or foreign one.
    PS_ASSIGN_OR_RETURN(const int64_t tables, Number("SELECT count(*) FROM sqlite_master"));
    PS_ASSIGN_OR_RETURN(const int64_t application, Number("PRAGMA application_id"));
    PS_ASSIGN_OR_RETURN(const int64_t version, Number("PRAGMA user_version"));
    if (tables > 0 && application != kApplicationId) {
      return absl::FailedPreconditionError(absl::StrCat(
          path_, " is a database of another program, not the coordinator's store; give another state_dir"));
    }
    if (version > kSchemaVersion) {
      return absl::FailedPreconditionError(absl::StrCat(path_, " was written by a newer release (schema ", version,
                                                        ", this one knows ", kSchemaVersion,
                                                        "); run that release, or give another state_dir"));
    }
    // A crash of the machine must not lose acknowledged commits: WAL with FULL syncs each commit.
    PS_RETURN_IF_ERROR(Run("PRAGMA journal_mode=WAL"));
    PS_RETURN_IF_ERROR(Run("PRAGMA synchronous=FULL"));
    if (tables == 0) {
      PS_RETURN_IF_ERROR(Run(absl::StrCat("BEGIN IMMEDIATE;", kSchema, kDecisionsTable, "PRAGMA application_id=",
                                          kApplicationId, ";PRAGMA user_version=", kSchemaVersion, ";COMMIT")));
      return absl::OkStatus();
    }
    PS_ASSIGN_OR_RETURN(const std::string check, Text("PRAGMA quick_check(1)"));
    if (check != "ok") return Damaged(check);
    if (version == kSchemaVersion) return absl::OkStatus();
    return Run(absl::StrCat("BEGIN IMMEDIATE;", version == 1 ? kFromVersion1 : "", kDecisionsTable,
                            "PRAGMA user_version=", kSchemaVersion, ";COMMIT"));
  }

  absl::StatusOr<v1::StoredState> Load() override {
    v1::StoredState state;
    PS_ASSIGN_OR_RETURN(const int64_t revision, Number("SELECT value FROM meta WHERE key='revision'"));
    PS_ASSIGN_OR_RETURN(const int64_t term, Number("SELECT value FROM meta WHERE key='term'"));
    state.set_revision(static_cast<uint64_t>(revision));
    state.set_term(static_cast<uint64_t>(term));
    PS_ASSIGN_OR_RETURN(*state.mutable_commit_id(), Text(kCommitIdQuery));
    PS_RETURN_IF_ERROR(LoadMessages("jobs", [&] { return state.add_jobs(); }));
    PS_RETURN_IF_ERROR(LoadMessages("views", [&] { return state.add_views(); }));
    PS_RETURN_IF_ERROR(LoadMessages("workers", [&] { return state.add_workers(); }));
    PS_RETURN_IF_ERROR(Each("SELECT job, record, data FROM bad_records ORDER BY job, record", [&](sqlite3_stmt* row) {
      const std::string job(Column(row, 0));
      const int count = state.bad_records_size();
      v1::StoredBadRecords* bad = count > 0 && state.bad_records(count - 1).job() == job
                                      ? state.mutable_bad_records(count - 1)
                                      : state.add_bad_records();
      bad->set_job(job);
      v1::BadRecord* record = bad->add_records();
      const std::string_view data = Column(row, 2);
      if (!record->ParseFromArray(data.data(), static_cast<int>(data.size()))) {
        return Damaged(absl::StrCat("a bad record of job ", job, " cannot be parsed"));
      }
      record->set_record(static_cast<uint64_t>(sqlite3_column_int64(row, 1)));
      return absl::OkStatus();
    }));
    PS_RETURN_IF_ERROR(Each("SELECT job, number, data FROM decisions ORDER BY job, number", [&](sqlite3_stmt* row) {
      const std::string job(Column(row, 0));
      const int count = state.decisions_size();
      v1::StoredDecisions* decisions = count > 0 && state.decisions(count - 1).job() == job
                                           ? state.mutable_decisions(count - 1)
                                           : state.add_decisions();
      decisions->set_job(job);
      const std::string_view data = Column(row, 2);
      if (sqlite3_column_int64(row, 1) != decisions->records_size() ||
          !decisions->add_records()->ParseFromArray(data.data(), static_cast<int>(data.size()))) {
        return Damaged(absl::StrCat("a decision about a record of job ", job, " is missing or cannot be parsed"));
      }
      return absl::OkStatus();
    }));
    return state;
  }

  void Commit(StoreCommit commit, Done done) override {
    executor_->Post(
        [this, commit = std::move(commit), done = std::move(done)]() mutable { std::move(done)(CommitNow(commit)); });
  }

  void Settle(std::string id, uint64_t expected_revision, Done done) override {
    executor_->Post([this, id = std::move(id), expected_revision, done = std::move(done)]() mutable {
      std::move(done)(SettleNow(id, expected_revision));
    });
  }

 private:
  CommitOutcome CommitNow(const StoreCommit& commit) {
    absl::Status status = Run("BEGIN IMMEDIATE");
    if (!status.ok()) return {CommitOutcome::kNotStored, std::move(status)};
    status = WriteAll(commit);
    if (!status.ok()) {
      RollBack();
      return {absl::IsAborted(status) ? CommitOutcome::kSuperseded : CommitOutcome::kNotStored, std::move(status)};
    }
    status = Run("COMMIT");
    if (status.ok()) return {CommitOutcome::kStored, absl::OkStatus()};
    // The last write of a transaction to the log makes it valid. If a later sync fails, the log may be valid after a
    // crash. After any other error it is not.
    const int code = sqlite3_extended_errcode(db_);
    RollBack();
    const bool unknown = code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
    return {unknown ? CommitOutcome::kUnknown : CommitOutcome::kNotStored, std::move(status)};
  }

  // A transaction that SQLite rolled back is still in the log if only its sync failed. So this writes a transaction,
  // which takes its place in the log. If that fails, a recovery of the log may still store the commit.
  CommitOutcome SettleNow(const std::string& id, uint64_t expected_revision) {
    absl::Status status = Run("BEGIN IMMEDIATE");
    if (!status.ok()) return {CommitOutcome::kUnknown, std::move(status)};
    absl::StatusOr<std::string> last = Text(kCommitIdQuery);
    absl::StatusOr<int64_t> revision = Number("SELECT value FROM meta WHERE key='revision'");
    status = last.status();
    if (status.ok()) status = revision.status();
    if (status.ok()) {
      status = Run("INSERT INTO meta VALUES('settled', 1) ON CONFLICT(key) DO UPDATE SET value=value+1");
    }
    if (status.ok()) status = Run("COMMIT");
    if (!status.ok()) {
      RollBack();
      return {CommitOutcome::kUnknown, std::move(status)};
    }
    if (*last == id) return {CommitOutcome::kStored, absl::OkStatus()};
    if (static_cast<uint64_t>(*revision) == expected_revision) {
      return {CommitOutcome::kNotStored, absl::UnavailableError(absl::StrCat(path_, ": the last commit was lost"))};
    }
    return {CommitOutcome::kSuperseded, Superseded(*revision, expected_revision)};
  }

  void RollBack() { sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr); }

  absl::Status Superseded(int64_t revision, uint64_t expected_revision) const {
    return absl::AbortedError(absl::StrCat(path_, " was changed by another process (revision ", revision, ", expected ",
                                           expected_revision, "); only one coordinator may use a state_dir"));
  }

  absl::Status Damaged(std::string_view detail) const {
    return absl::DataLossError(
        absl::StrCat(path_, " is damaged or no coordinator's store (", std::string(detail),
                     "); move it away and start again: workers register by themselves, jobs must be submitted again"));
  }

  // Call it directly after the failed call, because it reads errno.
  absl::Status Error(std::string_view what) const {
    const int system_error = errno;
    const int code = (db_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(db_)) & 0xff;
    const std::string detail = db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_);
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) return Damaged(detail);
    const std::string text = absl::StrCat(path_, ": ", std::string(what), ": ", detail);
    // SQLite reports a quota, or a failed write of a file next to the database, as an I/O error. sqlite3_system_errno()
    // has the cause in few of these cases.
    const bool io = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
    if (code == SQLITE_FULL || (io && (system_error == ENOSPC || system_error == EDQUOT))) {
      return absl::ResourceExhaustedError(text + "; make room on that disk");
    }
    switch (code) {
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        return absl::UnavailableError(text + "; another process uses it");
      case SQLITE_PERM:
      case SQLITE_READONLY:
      case SQLITE_CANTOPEN:
        return absl::PermissionDeniedError(text + "; the folder must be there and writable");
      default:
        return absl::InternalError(text);
    }
  }

  absl::Status Run(const std::string& sql) {
    errno = 0;
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
    return Error(sql.substr(0, 60));
  }

  // Binds the values in order: text as std::string, numbers as int64_t.
  static void Bind(sqlite3_stmt*, int) {}
  template <typename... Rest>
  static void Bind(sqlite3_stmt* statement, int index, const std::string& value, const Rest&... rest) {
    sqlite3_bind_blob64(statement, index, value.data(), value.size(), SQLITE_TRANSIENT);
    Bind(statement, index + 1, rest...);
  }
  template <typename... Rest>
  static void Bind(sqlite3_stmt* statement, int index, int64_t value, const Rest&... rest) {
    sqlite3_bind_int64(statement, index, value);
    Bind(statement, index + 1, rest...);
  }

  template <typename Row, typename... Values>
  absl::Status Each(const std::string& sql, const Row& each, const Values&... values) {
    sqlite3_stmt* statement = nullptr;
    errno = 0;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return Error(sql);
    absl::Cleanup finalize = [&] { sqlite3_finalize(statement); };
    Bind(statement, 1, values...);
    int code = SQLITE_OK;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) PS_RETURN_IF_ERROR(each(statement));
    return code == SQLITE_DONE ? absl::OkStatus() : Error(sql);
  }

  template <typename... Values>
  absl::Status Write(const std::string& sql, const Values&... values) {
    return Each(
        sql, [](sqlite3_stmt*) { return absl::OkStatus(); }, values...);
  }

  static std::string_view Column(sqlite3_stmt* row, int index) {
    const void* data = sqlite3_column_blob(row, index);
    return {static_cast<const char*>(data), static_cast<size_t>(sqlite3_column_bytes(row, index))};
  }

  absl::StatusOr<int64_t> Number(const std::string& sql) {
    int64_t value = 0;
    bool any = false;
    PS_RETURN_IF_ERROR(Each(sql, [&](sqlite3_stmt* row) {
      value = sqlite3_column_int64(row, 0);
      any = true;
      return absl::OkStatus();
    }));
    if (!any) return Damaged(absl::StrCat("nothing for ", sql));
    return value;
  }

  absl::StatusOr<std::string> Text(const std::string& sql) {
    std::string value;
    PS_RETURN_IF_ERROR(Each(sql, [&](sqlite3_stmt* row) {
      value = std::string(Column(row, 0));
      return absl::OkStatus();
    }));
    return value;
  }

  template <typename Add>
  absl::Status LoadMessages(const std::string& table, const Add& add) {
    return Each(absl::StrCat("SELECT name, data FROM ", table, " ORDER BY name"), [&](sqlite3_stmt* row) {
      const std::string_view data = Column(row, 1);
      if (!add()->ParseFromArray(data.data(), static_cast<int>(data.size()))) {
        return Damaged(absl::StrCat("table ", table, ", entry ", std::string(Column(row, 0)), " cannot be parsed"));
      }
      return absl::OkStatus();
    });
  }

  absl::Status Put(const std::string& table, const std::string& name, const google::protobuf::MessageLite& message) {
    return Write(absl::StrCat("INSERT OR REPLACE INTO ", table, " VALUES(?, ?)"), name, message.SerializeAsString());
  }

  // Returns Aborted if another process has written.
  absl::Status WriteAll(const StoreCommit& commit) {
    PS_ASSIGN_OR_RETURN(const int64_t revision, Number("SELECT value FROM meta WHERE key='revision'"));
    if (static_cast<uint64_t>(revision) != commit.expected_revision) {
      return Superseded(revision, commit.expected_revision);
    }
    for (const auto& event : commit.events) PS_RETURN_IF_ERROR(Write(*event));
    PS_RETURN_IF_ERROR(Write(std::string("INSERT OR REPLACE INTO meta VALUES('commit_id', ?)"), commit.id));
    return Run("UPDATE meta SET value=value+1 WHERE key='revision'");
  }

  absl::Status Write(const v1::StoreEvent& event) {
    switch (event.event_case()) {
      case v1::StoreEvent::kBeginTerm:
        return Write(std::string("UPDATE meta SET value=? WHERE key='term'"), static_cast<int64_t>(event.begin_term()));
      case v1::StoreEvent::kPutJob:
        return Put("jobs", event.put_job().job().name(), event.put_job());
      case v1::StoreEvent::kDeleteJob:
        PS_RETURN_IF_ERROR(Write(std::string("DELETE FROM views WHERE name=?"), event.delete_job()));
        PS_RETURN_IF_ERROR(Write(std::string("DELETE FROM bad_records WHERE job=?"), event.delete_job()));
        PS_RETURN_IF_ERROR(Write(std::string("DELETE FROM decisions WHERE job=?"), event.delete_job()));
        return Write(std::string("DELETE FROM jobs WHERE name=?"), event.delete_job());
      case v1::StoreEvent::kPutView:
        return Put("views", event.put_view().job(), event.put_view());
      case v1::StoreEvent::kPutWorker:
        return Put("workers", event.put_worker().registration().id(), event.put_worker());
      case v1::StoreEvent::kDeleteWorker:
        return Write(std::string("DELETE FROM workers WHERE name=?"), event.delete_worker());
      case v1::StoreEvent::kAddBadRecords:
        for (const v1::BadRecord& record : event.add_bad_records().records()) {
          PS_RETURN_IF_ERROR(Write(std::string("INSERT OR IGNORE INTO bad_records(job, record, data) VALUES(?, ?, ?)"),
                                   event.add_bad_records().job(), static_cast<int64_t>(record.record()),
                                   record.SerializeAsString()));
        }
        return absl::OkStatus();
      case v1::StoreEvent::kAddDecisions: {
        auto number = static_cast<int64_t>(event.add_decisions().begin());
        for (const v1::BadRecord& record : event.add_decisions().records()) {
          PS_RETURN_IF_ERROR(Write(std::string("INSERT INTO decisions(job, number, data) VALUES(?, ?, ?)"),
                                   event.add_decisions().job(), number++, record.SerializeAsString()));
        }
        return absl::OkStatus();
      }
      case v1::StoreEvent::EVENT_NOT_SET:
        break;
    }
    return absl::InternalError("an event without content");
  }

  const std::string path_;
  Executor* const executor_;
  sqlite3* db_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path, Executor* executor) {
  auto store = std::make_unique<SqliteStore>(path, executor);
  PS_RETURN_IF_ERROR(store->Open());
  return store;
}

}  // namespace penstock
