// A file of SQLite: statements, values, and errors that name the file and the remedy. An error without a known
// cause names no remedy.
#ifndef PENSTOCK_SERVER_COORDINATOR_STORE_SQLITE_FILE_H_
#define PENSTOCK_SERVER_COORDINATOR_STORE_SQLITE_FILE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace penstock::coordinator {

// A row of a result. Its values are valid during the callback that receives the row.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  std::string_view Bytes(int column) const;
  int64_t Number(int column) const;

 private:
  sqlite3_stmt* const statement_;
};

// A value of a statement. Bytes are stored as a blob, or as NULL if their data() is null.
using SqliteValue = std::variant<int64_t, std::string_view>;

// Not thread-safe.
class SqliteFile {
 public:
  explicit SqliteFile(std::string path) : path_(std::move(path)) {}
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  // Opens the file, and creates it if it is not there. Only its owner may then read it. Call it once, before the other
  // functions.
  absl::Status Open();

  // Runs statements that have no values, and ignores their results.
  absl::Status Run(const std::string& sql);
  // Runs one statement with values.
  absl::Status Write(const std::string& sql, std::initializer_list<SqliteValue> values);
  // Calls `each` for each row of the result. Stops at an error of `each`, and returns it.
  absl::Status Each(const std::string& sql, absl::FunctionRef<absl::Status(const SqliteRow&)> each,
                    std::initializer_list<SqliteValue> values = {});
  // Returns the first value of the last row of the result. Returns DataLoss if there is no row.
  absl::StatusOr<int64_t> Number(const std::string& sql);
  // Returns the first value of the last row of the result, or "" if there is none.
  absl::StatusOr<std::string> Bytes(const std::string& sql);
  void RollBack();

  // Returns whether the last statement failed because a sync failed. Its writes may be in the file after a crash.
  bool SyncFailed() const;

  // Returns DataLoss with the file, the detail and the remedy.
  absl::Status Damaged(std::string_view detail) const;
  const std::string& path() const { return path_; }

 private:
  absl::Status Error(std::string_view what) const;

  const std::string path_;
  sqlite3* db_ = nullptr;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STORE_SQLITE_FILE_H_
