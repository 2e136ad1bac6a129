// Where the time of one row goes. Stages lie inside each other (an op that needs pixels has them decoded), and each is
// told the time that is its own.
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_STAGE_TIMES_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_STAGE_TIMES_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/runtime/clock.h"

namespace penstock {

// Of one thread; not thread-safe.
class StageTimes {
 public:
  // Stages of every pipeline; a pipeline's own follow.
  enum : size_t { kOther, kParse, kDecode, kResize, kFixedStages };

  // Measures from now on, in kOther, until Stop.
  void Start(const Clock* clock, size_t stages) {
    clock_ = clock;
    own_.assign(std::max<size_t>(stages, kFixedStages), 0);
    stage_ = kOther;
    since_ = clock->Now();
  }
  void Stop() {
    if (!on()) return;
    SwitchTo(kOther);
    clock_ = nullptr;
  }
  bool on() const { return clock_ != nullptr; }
  // Of the last Start: each stage's own time.
  const std::vector<Nanos>& own() const { return own_; }

  // While it lives the time is `stage`'s, and then again that of the stage around it. A branch when nothing is
  // measured.
  class Scope {
   public:
    Scope(StageTimes* times, size_t stage) : times_(times->on() ? times : nullptr) {
      if (times_ == nullptr) return;
      around_ = times_->stage_;
      times_->SwitchTo(stage);
    }
    ~Scope() {
      if (times_ != nullptr) times_->SwitchTo(around_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StageTimes* const times_;
    size_t around_ = kOther;
  };

 private:
  void SwitchTo(size_t stage) {
    const Nanos now = clock_->Now();
    own_[stage_] += now - since_;
    since_ = now;
    stage_ = stage;
  }

  const Clock* clock_ = nullptr;  // null: nothing is measured
  std::vector<Nanos> own_;
  size_t stage_ = kOther;
  Nanos since_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_VALUE_STAGE_TIMES_H_
