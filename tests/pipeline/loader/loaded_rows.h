// Steps that a loader makes, in the types of the plain loop (tests/support/plain_rows.h).
#ifndef PENSTOCK_TESTS_PIPELINE_LOADER_LOADED_ROWS_H_
#define PENSTOCK_TESTS_PIPELINE_LOADER_LOADED_ROWS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/loader/local_steps.h"
#include "tests/support/plain_rows.h"

namespace penstock::loader {

// Returns a copy of the step.
inline support::PlainStep CopyOf(const LoadJob& job, const LocalSteps::Step& step) {
  support::PlainStep copy{step.span, {}};
  const std::vector<batch::ColumnSpec>& columns = job.schema().columns;
  for (size_t i = 0; i < step.rows->size(); ++i) {
    const RowResult& loaded = step.rows->row(i);
    support::PlainRow row;
    row.id = job.order().Locate(loaded.record_id);
    row.source = loaded.source_record;
    row.masked = loaded.masked;
    row.substituted = loaded.substituted;
    row.valid = !loaded.masked && step.slice.begin + i < step.span.valid;
    for (size_t c = 0; c < columns.size(); ++c) {
      row.columns.push_back({std::string(step.rows->Column(c, i)), columns[c].ragged});
    }
    copy.rows.push_back(std::move(row));
  }
  return copy;
}

// Reads all steps. Calls `after_step` after each.
inline absl::StatusOr<std::vector<support::PlainStep>> LoadedSteps(
    Loader* loader, const std::shared_ptr<const LoadJob>& job, const LocalStepsOptions& options,
    const std::function<void()>& after_step = [] {}) {
  auto local = LocalSteps::Open(loader, job, options);
  if (!local.ok()) return local.status();
  std::vector<support::PlainStep> all;
  while (true) {
    const auto step = (*local)->Next();
    if (!step.ok()) return step.status();
    if (!step->has_value()) return all;
    all.push_back(CopyOf(*job, **step));
    after_step();
  }
}

}  // namespace penstock::loader

#endif  // PENSTOCK_TESTS_PIPELINE_LOADER_LOADED_ROWS_H_
