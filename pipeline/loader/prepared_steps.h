// The steps of one rank, made ahead of who takes them: in order, each where its target says.
//
//   Next ─▶ asks the loader for the steps that are to be under way ─▶ rows come in any order ─▶ the head step, whole
#ifndef PENSTOCK_PIPELINE_LOADER_PREPARED_STEPS_H_
#define PENSTOCK_PIPELINE_LOADER_PREPARED_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/loader.h"
#include "pipeline/plan/steps.h"

namespace penstock {

// What the rows of one step are written into. Calls for unlike rows may come on several threads at once.
class StepTarget {
 public:
  virtual ~StepTarget() = default;
  // The memory of a row, counted in the rank's slice; see RowSink::Book.
  virtual RowSlot Book(size_t row) = 0;
  // The row is in its slot: its status is OK. What it returns counts as the row's outcome.
  virtual absl::Status Put(size_t row, RowResult result) = 0;
};

struct PreparedStep {
  StepSpan span;
  SlotRange slice;
  std::unique_ptr<StepTarget> target;
};

struct PreparedStepsOptions {
  uint64_t rank = 0;
  Cursor start;
  uint64_t epochs = 1;          // that are begun, that of `start` included; 0: without end
  uint32_t prefetch_steps = 4;  // made ahead; at least 1
};

// Next is for one thread at a time, the others for any.
class PreparedSteps final : public RowSink {
 public:
  // Null: there is no memory for it now.
  using MakeTarget = std::function<std::unique_ptr<StepTarget>(const StepSpan& span, const SlotRange& slice)>;

  // Opens a session and begins. The loader and what make_target uses outlive this. Errors: those of
  // Loader::OpenSession.
  static absl::StatusOr<std::unique_ptr<PreparedSteps>> Open(Loader* loader, std::shared_ptr<const LoadJob> job,
                                                             const Steps& steps, const PreparedStepsOptions& options,
                                                             MakeTarget make_target);
  // Waits for the rows that are being made.
  ~PreparedSteps() override;

  // Waits for the next step, `timeout` at most.
  //   a step             every row of it is there
  //   nullopt            all epochs have been taken
  //   DeadlineExceeded   not complete in time; says how many rows are missing. Call again
  //   ResourceExhausted  there is no memory for it, and no step under way. Call again when there is some
  //   Cancelled          Cancel was called
  //   another error      that of the first row of this step that failed; every further call returns it again
  absl::StatusOr<std::optional<PreparedStep>> Next(Nanos timeout);

  // Ends a Next that waits, and all later ones.
  void Cancel();

  // Complete and not taken yet.
  uint64_t ready_steps() const;

  RowSlot Book(const RowRequest& request) override;
  void OnRow(RowResult row) override;
  bool WillAsk(uint64_t epoch, uint64_t position, uint64_t record) override;

 private:
  struct Pending {
    PreparedStep step;
    size_t missing = 0;
    size_t failed_slot = SIZE_MAX;
    absl::Status failure;
  };

  PreparedSteps(const Steps& steps, const PreparedStepsOptions& options, MakeTarget make_target)
      : steps_(steps),
        options_(options),
        make_target_(std::move(make_target)),
        next_(steps.Normalized(options.start)) {}

  // Asks for steps until enough are under way, no step is left or there is no memory.
  void Fill();
  bool RequestStep();
  Pending* Find(const RowRequest& request);

  const Steps steps_;
  const PreparedStepsOptions options_;
  const MakeTarget make_target_;
  // Of Next's thread.
  Cursor next_;
  uint64_t requested_ = 0;
  absl::Status failure_;

  mutable Mutex mutex_;
  CondVar arrived_;
  std::deque<std::unique_ptr<Pending>> pending_ ABSL_GUARDED_BY(mutex_);
  uint64_t first_step_ ABSL_GUARDED_BY(mutex_) = 0;  // number of pending_.front()
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;

  std::unique_ptr<Loader::Session> session_;  // goes before what it writes to
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_PREPARED_STEPS_H_
