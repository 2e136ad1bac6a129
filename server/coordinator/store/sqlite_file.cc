#include "server/coordinator/store/sqlite_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/owned_fd.h"
#include "base/status_macros.h"

namespace penstock::coordinator {
namespace {

constexpr int kBusyTimeoutMs = 2000;

}  // namespace

std::string_view SqliteRow::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  return {static_cast<const char*>(data), static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

int64_t SqliteRow::Number(int column) const { return sqlite3_column_int64(statement_, column); }

SqliteFile::~SqliteFile() { sqlite3_close_v2(db_); }

absl::Status SqliteFile::Open() {
  // The keys of tickets are secret, and older releases made files that others could read. SQLite gives the mode of the
  // database to new logs. A database that exists is not opened here: closing it would drop SQLite's locks.
  OwnedFd(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)).Reset();
  for (const char* suffix : {"", "-wal", "-shm"}) chmod((path_ + suffix).c_str(), 0600);
  errno = 0;
  if (sqlite3_open_v2(path_.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr) !=
      SQLITE_OK) {
    return Error("open");
  }
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, kBusyTimeoutMs);
  return absl::OkStatus();
}

absl::Status SqliteFile::Run(const std::string& sql) {
  errno = 0;
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return Error(sql.substr(0, 60));
}

absl::Status SqliteFile::Each(const std::string& sql, absl::FunctionRef<absl::Status(const SqliteRow&)> each,
                              std::initializer_list<SqliteValue> values) {
  sqlite3_stmt* statement = nullptr;
  errno = 0;
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return Error(sql);
  absl::Cleanup finalize = [&] { sqlite3_finalize(statement); };
  int index = 0;
  for (const SqliteValue& value : values) {
    ++index;
    if (const auto* number = std::get_if<int64_t>(&value)) {
      sqlite3_bind_int64(statement, index, *number);
    } else {
      const std::string_view bytes = std::get<std::string_view>(value);
      sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_STATIC);
    }
  }
  int code = SQLITE_OK;
  const SqliteRow row(statement);
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) PS_RETURN_IF_ERROR(each(row));
  return code == SQLITE_DONE ? absl::OkStatus() : Error(sql);
}

absl::Status SqliteFile::Write(const std::string& sql, std::initializer_list<SqliteValue> values) {
  return Each(
      sql, [](const SqliteRow&) { return absl::OkStatus(); }, values);
}

absl::StatusOr<int64_t> SqliteFile::Number(const std::string& sql) {
  int64_t value = 0;
  bool any = false;
  PS_RETURN_IF_ERROR(Each(sql, [&](const SqliteRow& row) {
    value = row.Number(0);
    any = true;
    return absl::OkStatus();
  }));
  if (!any) return Damaged(absl::StrCat("nothing for ", sql));
  return value;
}

absl::StatusOr<std::string> SqliteFile::Bytes(const std::string& sql) {
  std::string value;
  PS_RETURN_IF_ERROR(Each(sql, [&](const SqliteRow& row) {
    value = std::string(row.Bytes(0));
    return absl::OkStatus();
  }));
  return value;
}

void SqliteFile::RollBack() { sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr); }

bool SqliteFile::SyncFailed() const {
  const int code = sqlite3_extended_errcode(db_);
  return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

absl::Status SqliteFile::Damaged(std::string_view detail) const {
  return absl::DataLossError(
      absl::StrCat(path_, " is damaged or no coordinator's store (", std::string(detail),
                   "); move it away and start again: workers register by themselves, jobs must be submitted again"));
}

// Call it directly after the failed call, because it reads errno.
absl::Status SqliteFile::Error(std::string_view what) const {
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

}  // namespace penstock::coordinator
