// Numbers of the rows that a step makes of several records: a pack, or a window.
#ifndef PENSTOCK_CLIENT_CLI_SELECT_ROW_TOTALS_H_
#define PENSTOCK_CLIENT_CLI_SELECT_ROW_TOTALS_H_

#include <cstdint>
#include <string>

#include "base/json.h"
#include "penstock/v1/job.pb.h"

namespace penstock::cli {

struct RowTotals {
  uint64_t rows = 0;
  uint64_t kept = 0;               // rows that later steps keep
  uint64_t parts = 0, values = 0;  // pack: the parts of records in all rows, and their values
  // Window: the runs, those of them that are too short for a window, and the records of the longest one.
  uint64_t runs = 0, short_runs = 0, longest_run = 0;

  void Add(const RowTotals& other);
};

// Returns the name of a row that the step makes: "row" or "window".
const char* RowNoun(const v1::Select& step);
// Returns the numbers as text, for the step of the data set that makes rows.
std::string RowsText(const v1::Dataset& dataset, const RowTotals& totals);
// Adds them to the report of a data set. Adds nothing if no step makes rows.
void AddRows(const v1::Dataset& dataset, const RowTotals& totals, Json* json);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_SELECT_ROW_TOTALS_H_
