// Where the time of one row goes. Stages lie inside each other (an op that needs pixels has them decoded), and each is
// told the time that is its own.
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_STAGE_TIMES_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_STAGE_TIMES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/runtime/clock.h"

namespace penstock {

// Of one thread; not thread-safe.
class StageTimes {
 public:
  // Stages of every pipeline; a pipeline's own follow.
  enum : size_t { kOther, kParse, kDecode, kResize, kFixedStages };

  // A stage in time. One that a stage comes back to again and again (strips of rows to the resize) is one span, with
  // the time that it had of it.
  struct Span {
    size_t stage = kOther;
    size_t parent = kNoParent;  // in spans(); that it lies in
    Nanos begin = 0, end = 0;
    Nanos inside = 0;  // of all its visits, stages inside it included
  };
  static constexpr size_t kNoParent = SIZE_MAX;
  static constexpr size_t kMostSpans = 64;  // of a row; further ones are left out

  // Measures from now on, in kOther, until Stop; also in spans, if `spans`.
  void Start(const Clock* clock, size_t stages, bool spans = false) {
    clock_ = clock;
    own_.assign(std::max<size_t>(stages, kFixedStages), 0);
    stage_ = kOther;
    since_ = clock->Now();
    spans_.clear();
    keeps_spans_ = spans;
    span_ = kNoParent;
  }
  void Stop() {
    if (!on()) return;
    SwitchTo(kOther);
    clock_ = nullptr;
  }
  bool on() const { return clock_ != nullptr; }
  // Of the last Start: each stage's own time.
  const std::vector<Nanos>& own() const { return own_; }
  // Of the last Start, if it was to keep them: those that hold others before these.
  const std::vector<Span>& spans() const { return spans_; }

  // While it lives the time is `stage`'s, and then again that of the stage around it. A branch when nothing is
  // measured.
  class Scope {
   public:
    Scope(StageTimes* times, size_t stage) : times_(times->on() ? times : nullptr) {
      if (times_ == nullptr) return;
      around_ = times_->stage_;
      times_->SwitchTo(stage);
      if (!times_->keeps_spans_) return;
      entered_ = times_->since_;
      span_ = times_->Enter(stage);
    }
    ~Scope() {
      if (times_ == nullptr) return;
      times_->SwitchTo(around_);
      if (span_ != kNoParent) times_->Exit(span_, entered_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StageTimes* const times_;
    size_t around_ = kOther;
    size_t span_ = kNoParent;
    Nanos entered_ = 0;
  };

 private:
  // Now is since_.
  size_t Enter(size_t stage) {
    // Only the last one of those beside it, so that no two lie across each other.
    for (size_t i = spans_.size(); i-- > 0;) {
      if (spans_[i].parent != span_) continue;
      if (spans_[i].stage == stage) return span_ = i;
      break;
    }
    if (spans_.size() == kMostSpans) return kNoParent;
    spans_.push_back({stage, span_, since_, since_, 0});
    return span_ = spans_.size() - 1;
  }
  void Exit(size_t span, Nanos entered) {
    spans_[span].end = since_;
    spans_[span].inside += since_ - entered;
    span_ = spans_[span].parent;
  }

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
  bool keeps_spans_ = false;
  std::vector<Span> spans_;
  size_t span_ = kNoParent;  // that it is in
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_VALUE_STAGE_TIMES_H_
