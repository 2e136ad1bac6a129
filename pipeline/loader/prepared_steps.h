// Prepares the steps of one rank ahead, in order, and writes each to its target.
//
//   Next ─▶ requests steps from the loader ─▶ rows arrive in any order ─▶ the complete head step
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

namespace penstock::loader {

// Receives the rows of one step. Calls for different rows may run on several threads at once.
class StepTarget {
 public:
  virtual ~StepTarget() = default;
  // Returns the memory of a row, numbered within the rank's slice; see RowSink::Book.
  virtual batch::RowSlot Book(size_t row) = 0;
  // Accepts a row that is in its slot and whose status is OK. The returned status becomes the row's.
  virtual absl::Status Put(size_t row, RowResult result) = 0;
};

struct PreparedStep {
  plan::StepSpan span;
  plan::SlotRange slice;
  std::unique_ptr<StepTarget> target;
};

struct PreparedStepsOptions {
  uint64_t rank = 0;
  plan::Cursor start = {};
  uint64_t epochs = 1;           // number of epochs to begin, including that of `start`; 0: unlimited
  uint32_t prefetch_steps = 4;   // prepared ahead; at least 1
  Clock* clock = Clock::Real();  // measures timeouts
};

// Next is for one thread at a time; the other functions are thread-safe.
class PreparedSteps final : public RowSink {
 public:
  // Returns the target of a step, or null if there is no memory for it at present.
  using MakeTarget =
      std::function<std::unique_ptr<StepTarget>(const plan::StepSpan& span, const plan::SlotRange& slice)>;

  // Opens a session and requests the first steps. The loader, and the objects that make_target uses, must outlive this.
  // Returns the errors of Loader::OpenSession and CheckFixedBytes.
  static absl::StatusOr<std::unique_ptr<PreparedSteps>> Open(Loader* loader, std::shared_ptr<const LoadJob> job,
                                                             const plan::Steps& steps,
                                                             const PreparedStepsOptions& options,
                                                             MakeTarget make_target);
  // Blocks until the rows in progress are made.
  ~PreparedSteps() override;

  // Blocks until the next step is complete, for at most `timeout`, and returns
  //   a step             complete
  //   nullopt            all epochs were returned
  //   DeadlineExceeded   not complete in time; names the number of missing rows. Call again
  //   ResourceExhausted  there is no memory for the step, and no step is in progress. Call again when there is some
  //   Cancelled          Cancel was called
  //   another error      that of the failed row with the lowest number in the slice; each further call returns it again
  absl::StatusOr<std::optional<PreparedStep>> Next(Nanos timeout);

  // Cancels a Next in progress and all later ones.
  void Cancel();

  // Returns the number of complete steps that Next has not returned.
  uint64_t ready_steps() const;

  batch::RowSlot Book(const RowRequest& request) override;
  void OnRow(RowResult row) override;

 private:
  struct Pending {
    PreparedStep step;
    size_t missing = 0;
    size_t failed_slot = SIZE_MAX;
    absl::Status failure;
  };

  PreparedSteps(const plan::Steps& steps, const PreparedStepsOptions& options, MakeTarget make_target)
      : steps_(steps),
        options_(options),
        make_target_(std::move(make_target)),
        next_(steps.Normalized(options.start)) {}

  // Requests steps until enough are in progress, no step is left or there is no memory.
  void Fill();
  bool RequestStep();
  Pending* Find(const RowRequest& request);

  const plan::Steps steps_;
  const PreparedStepsOptions options_;
  const MakeTarget make_target_;
  // Used by Next's thread only.
  plan::Cursor next_;
  uint64_t requested_ = 0;
  absl::Status failure_;

  mutable Mutex mutex_;
  CondVar arrived_;
  std::deque<std::unique_ptr<Pending>> pending_ ABSL_GUARDED_BY(mutex_);
  uint64_t first_step_ ABSL_GUARDED_BY(mutex_) = 0;  // number of pending_.front()
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;

  std::unique_ptr<Loader::Session> session_;  // destroyed before the members that it writes to
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_PREPARED_STEPS_H_
