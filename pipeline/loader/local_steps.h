// Reads the steps of a rank in this process, for measurements and tests. A later step reuses the memory of an earlier
// one.
#ifndef PENSTOCK_PIPELINE_LOADER_LOCAL_STEPS_H_
#define PENSTOCK_PIPELINE_LOADER_LOCAL_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/batch/row.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/prepared_steps.h"
#include "pipeline/plan/steps.h"

namespace penstock::loader {

// The rows of one step.
class StepRows final : public StepTarget {
 public:
  StepRows(std::shared_ptr<const LoadJob> job, size_t rows);

  size_t size() const { return rows_.size(); }
  // Returns the row. Its FIXED columns are not in it: Column() returns them.
  const RowResult& row(size_t i) const { return rows_[i]; }
  // Returns column c of row i: a FIXED one, or a RAGGED one in its encoding.
  std::string_view Column(size_t c, size_t i) const;

  batch::RowSlot Book(size_t row) override;
  absl::Status Put(size_t row, RowResult result) override;

 private:
  const std::shared_ptr<const LoadJob> job_;
  std::vector<RowResult> rows_;
  const std::unique_ptr<std::byte[]> fixed_;  // row after row
};

struct LocalStepsOptions {
  uint32_t batch_size = 0;  // 0: that of the job
  uint64_t world_size = 1;
  PreparedStepsOptions read = {};
};

// For one thread at a time.
class LocalSteps {
 public:
  struct Step {
    plan::StepSpan span;
    plan::SlotRange slice;
    const StepRows* rows = nullptr;  // valid until the next call of Next()
  };

  // Starts to prepare the first steps. `loader` must outlive the result. Returns InvalidArgument if batch size, rank
  // and world size do not fit the job, and the errors of Loader::OpenSession.
  static absl::StatusOr<std::unique_ptr<LocalSteps>> Open(Loader* loader, std::shared_ptr<const LoadJob> job,
                                                          const LocalStepsOptions& options);

  // Blocks until the next step is complete, and returns
  //   a step    complete
  //   nullopt   all epochs were returned
  //   an error  that of the failed row with the lowest number in the slice; each further call returns it again
  absl::StatusOr<std::optional<Step>> Next();

 private:
  LocalSteps() = default;

  std::vector<std::unique_ptr<StepTarget>> spare_;  // of earlier steps
  std::optional<PreparedStep> current_;
  std::unique_ptr<PreparedSteps> prepared_;  // uses spare_
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_LOCAL_STEPS_H_
