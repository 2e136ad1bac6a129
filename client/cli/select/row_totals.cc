#include "client/cli/select/row_totals.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output.h"
#include "pipeline/plan/job_dataset.h"

namespace penstock::cli {

void RowTotals::Add(const RowTotals& other) {
  rows += other.rows;
  kept += other.kept;
  parts += other.parts;
  values += other.values;
  runs += other.runs;
  short_runs += other.short_runs;
  longest_run = std::max(longest_run, other.longest_run);
}

const char* RowNoun(const v1::Select& step) { return step.has_window() ? "window" : "row"; }

std::string RowsText(const v1::Dataset& dataset, const RowTotals& totals) {
  if (const v1::Pack* const pack = plan::PackOf(dataset)) {
    const double room = static_cast<double>(totals.rows) * static_cast<double>(pack->length());
    const double full = room == 0 ? 0 : 100 * static_cast<double>(totals.values) / room;
    return absl::StrFormat("%s of %s, %.2f %% full, with %s of records", Count(totals.rows, "row"),
                           Count(pack->length(), "value"), full, Count(totals.parts, "part"));
  }
  const std::string rows = Count(totals.rows, "window"), reason = plan::NoWindowReason(dataset, totals.longest_run);
  if (!reason.empty()) return absl::StrCat(rows, ": ", reason);
  return absl::StrCat(rows, " in ", Count(totals.runs - totals.short_runs, "run"), " of up to ",
                      Count(totals.longest_run, "record"), "; ", Count(totals.short_runs, "run"),
                      totals.short_runs == 1 ? " is" : " are", " too short");
}

void AddRows(const v1::Dataset& dataset, const RowTotals& totals, Json* json) {
  Json rows;
  rows.Field("rows", totals.rows).Field("rows_kept", totals.kept);
  if (plan::PackOf(dataset) != nullptr) {
    json->Raw("packed", rows.Field("parts", totals.parts).Field("values", totals.values).Object());
  } else if (plan::RecordWindowOf(dataset) != nullptr) {
    rows.Field("runs", totals.runs).Field("short_runs", totals.short_runs).Field("longest_run", totals.longest_run);
    json->Raw("windows", rows.Object());
  }
}

}  // namespace penstock::cli
