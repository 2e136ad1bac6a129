// What a trace shows of the trainer's own thread: waiting for a step, and its work between two.
#ifndef PENSTOCK_CLIENT_SESSION_TRAINER_TRACE_H_
#define PENSTOCK_CLIENT_SESSION_TRAINER_TRACE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/runtime/clock.h"
#include "base/trace/trace_recorder.h"
#include "client/session/window.h"

namespace penstock {

// By one thread at a time.
class TrainerTrace {
 public:
  TrainerTrace(std::shared_ptr<TraceRecorder> trace, const Clock* clock) : trace_(std::move(trace)), clock_(clock) {}

  // The trainer asks for a step, again where it was told that there is none yet.
  void Asked() {
    if (trace_->on()) Ask();
  }
  // It is given one (null: something else).
  void Got(const Window::Step* step) {
    if (trace_->on()) Get(step);
  }

 private:
  void Join();
  void Ask();
  void Get(const Window::Step* step);
  void Add(std::string_view name, Nanos begin, Nanos end, const Window::Step* step);

  const std::shared_ptr<TraceRecorder> trace_;
  const Clock* const clock_;
  // Of the recording that this is of; -1: not in it.
  uint64_t recording_ = 0;
  Nanos asked_ = -1;
  Nanos got_ = -1;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_TRAINER_TRACE_H_
