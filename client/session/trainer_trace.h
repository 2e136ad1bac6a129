// The trainer's thread in a trace: its waits for a step, and its work between two steps.
#ifndef PENSTOCK_CLIENT_SESSION_TRAINER_TRACE_H_
#define PENSTOCK_CLIENT_SESSION_TRAINER_TRACE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/runtime/clock.h"
#include "base/trace/trace_recorder.h"
#include "client/session/window.h"

namespace penstock::client {

// For one thread at a time.
class TrainerTrace {
 public:
  TrainerTrace(std::shared_ptr<TraceRecorder> trace, const Clock* clock) : trace_(std::move(trace)), clock_(clock) {}

  // Records that the trainer requests a step. Calls that repeat an unanswered request have no effect.
  void Asked() {
    if (trace_->on()) Ask();
  }
  // Records that the trainer received a step. Null: it received another result.
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
  // Number of the recording to which the times below belong; 0: none.
  uint64_t recording_ = 0;
  Nanos asked_ = -1;
  Nanos got_ = -1;
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_TRAINER_TRACE_H_
