// Measures the stages of one row. Stages nest (an op that needs pixels triggers their decoding), and each stage counts
// only its own time.
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_STAGE_TIMES_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_STAGE_TIMES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/runtime/clock.h"

namespace penstock {

// Stage times of one thread. Not thread-safe.
class StageTimes {
 public:
  // Stages of every pipeline. The ops of a pipeline follow.
  enum : size_t { kOther, kParse, kDecode, kResize, kFixedStages };

  // The interval of a stage. Repeated visits within another stage (strips of rows that go to the resize) form one span.
  struct Span {
    size_t stage = kOther;
    size_t parent = kNoParent;  // index in spans() of the enclosing span
    Nanos begin = 0, end = 0;
    Nanos inside = 0;  // total of all its visits, including nested stages
  };
  static constexpr size_t kNoParent = SIZE_MAX;
  static constexpr size_t kMostSpans = 64;  // maximum since Start; later spans are dropped

  // Measures stages 0 to stages - 1 from now until Stop, first in kOther. With `spans`, also records spans. `clock`
  // must live until Stop.
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
  // Returns each stage's own time since the last Start.
  const std::vector<Nanos>& own() const { return own_; }
  // Returns the spans since the last Start, if it recorded them. Enclosing spans precede nested ones.
  const std::vector<Span>& spans() const { return spans_; }

  // Adds the time of its lifetime to `stage`, except the time of scopes inside it. Costs only a branch if measuring is
  // off.
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
  // The current time is since_.
  size_t Enter(size_t stage) {
    // Only the most recent sibling can continue, so that no spans overlap partially.
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

  const Clock* clock_ = nullptr;  // null: measuring is off
  std::vector<Nanos> own_;
  size_t stage_ = kOther;
  Nanos since_ = 0;
  bool keeps_spans_ = false;
  std::vector<Span> spans_;
  size_t span_ = kNoParent;  // the current span
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_VALUE_STAGE_TIMES_H_
