// The last views of a job, as the steps between them, so that a watcher receives only the changes. Plain state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_VIEW_HISTORY_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_VIEW_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "penstock/v1/submitted_job.pb.h"

namespace penstock::coordinator {

// Keeps only as many steps as take less room than a whole view. Older steps would save nothing.
class ViewHistory {
 public:
  // Adds the view `next`, which is valid from `revision` on. `before` is the previous view; it is empty (number 0) for
  // the first.
  void Add(const v1::View& before, const v1::View& next, uint64_t revision);

  // Adds to `update` the difference between the watcher's view and `now`, the last added view: nothing, steps, or the
  // whole view. The watcher has the view at `base_revision`; if that is 0, the view in `held`.
  void Tell(const v1::View& now, uint64_t base_revision, const v1::HeldJob& held, v1::JobUpdate* update) const;

 private:
  struct Step {
    uint64_t since = 0;  // revision at which the previous view was made
    v1::ViewDelta delta;
    size_t bytes = 0;
  };

  std::deque<Step> steps_;  // the last step leads to the current view
  size_t bytes_ = 0;
  uint64_t since_ = 0;  // revision at which the current view was made
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_VIEW_HISTORY_H_
