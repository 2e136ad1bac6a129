// The tables of `penstock status`, each with its notes below it.
#ifndef PENSTOCK_CLIENT_CLI_STATUS_TABLES_H_
#define PENSTOCK_CLIENT_CLI_STATUS_TABLES_H_

#include <string>

#include "penstock/v1/control.pb.h"

namespace penstock::cli {

// Returns true if the worker still runs, as far as the coordinator knows.
bool StillThere(const v1::WorkerStatus& worker);

std::string JobsTable(const v1::StatusReply& status);
std::string WorkersTable(const v1::StatusReply& status);
// Returns "" if there are no readers.
std::string SessionsTable(const v1::StatusReply& status);

// Returns a table of the data sets of each blend that has a reader, or with `all` of each blend, with at most `most`
// rows for each job. Below the table, a line for each job with further data sets. Returns "" if there are none.
std::string DatasetsTable(const v1::StatusReply& status, int most, bool all);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_STATUS_TABLES_H_
