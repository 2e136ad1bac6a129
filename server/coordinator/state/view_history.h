// The last views of a job, as the steps between them, so that a watcher is told what changed. Plain state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_VIEW_HISTORY_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_VIEW_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "penstock/v1/submitted_job.pb.h"

namespace penstock {

// As many steps as take less room than a whole view does: older ones would save nothing.
class ViewHistory {
 public:
  // `next` is the view from `revision` on. `before`: the view until then; empty (number 0) for the first.
  void Add(const v1::View& before, const v1::View& next, uint64_t revision);

  // What one who has what there was at `base_revision` (0: what `held` says) lacks of `now`, which was added last:
  // nothing, steps, or all of it.
  void Tell(const v1::View& now, uint64_t base_revision, const v1::HeldJob& held, v1::JobUpdate* update) const;

 private:
  struct Step {
    uint64_t since = 0;  // the revision at which the view before it was made
    v1::ViewDelta delta;
    size_t bytes = 0;
  };

  std::deque<Step> steps_;  // the last leads to the view that is
  size_t bytes_ = 0;
  uint64_t since_ = 0;  // the revision at which the view that is was made
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_VIEW_HISTORY_H_
