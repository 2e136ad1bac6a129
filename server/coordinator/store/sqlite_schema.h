// The tables of the store's SQLite file, and their migration from older releases.
#ifndef PENSTOCK_SERVER_COORDINATOR_STORE_SQLITE_SCHEMA_H_
#define PENSTOCK_SERVER_COORDINATOR_STORE_SQLITE_SCHEMA_H_

#include "absl/status/status.h"
#include "server/coordinator/store/sqlite_file.h"

namespace penstock::coordinator {

// Opens the file with the tables of this release. Creates them in a new file. Migrates an older file after it has
// copied it to `path`.schema-N, where N is the version of its tables. Uses a newer file as it is if the table meta
// permits that (readable_from). Logs a migration and the use of a newer file.
//   DataLoss            it is damaged or not an SQLite file
//   FailedPrecondition  it belongs to another program, or is newer and not readable here; names the copy to go back to
//   others              it cannot be opened, copied or migrated; it is unchanged
absl::Status OpenWithSchema(SqliteFile* file);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STORE_SQLITE_SCHEMA_H_
