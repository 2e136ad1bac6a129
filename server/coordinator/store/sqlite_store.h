// The store in one SQLite file.
#ifndef PENSTOCK_SERVER_COORDINATOR_STORE_SQLITE_STORE_H_
#define PENSTOCK_SERVER_COORDINATOR_STORE_SQLITE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/runtime/executor.h"
#include "server/coordinator/store/store.h"

namespace penstock::coordinator {

// Opens or creates the file at `path`. SQLite also creates `path`-wal and `path`-shm. Commits run on `executor` and
// block its thread while the disk writes. The executor must outlive the store, and must be stopped before the store is
// destroyed.
//   DataLoss            it is damaged or not an SQLite file; the error names the file and the remedy
//   FailedPrecondition  it belongs to another program, or to a newer release whose tables this one cannot read
//   Unavailable         another process is writing to it
//   others              it cannot be opened
absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path, Executor* executor);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STORE_SQLITE_STORE_H_
