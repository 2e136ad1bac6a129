#include "client/session/trainer_trace.h"

namespace penstock::client {

void TrainerTrace::Add(std::string_view name, Nanos begin, Nanos end, const Window::Step* step) {
  const std::shared_ptr<TraceTrack> track = trace_->Track("trainer");
  if (track == nullptr) return;
  TraceEvent event;
  event.name = trace_->Name(name);
  event.begin = begin;
  event.end = end;
  if (step != nullptr) {
    event.epoch = step->span.epoch;
    event.position = step->span.begin;
    event.rows = static_cast<uint32_t>(step->slice.size());
  }
  track->Add(event);
}

// Joins the current recording and drops the times of the previous one.
void TrainerTrace::Join() {
  const uint64_t number = trace_->number();
  if (recording_ == number) return;
  recording_ = number;
  asked_ = got_ = -1;
}

void TrainerTrace::Ask() {
  Join();
  if (asked_ >= 0) return;
  asked_ = clock_->Now();
  if (got_ >= 0) Add("trainer's work", got_, asked_, nullptr);
}

void TrainerTrace::Get(const Window::Step* step) {
  Join();
  const Nanos now = clock_->Now();
  if (asked_ >= 0) Add("wait", asked_, now, step);
  asked_ = -1;
  got_ = now;
}

}  // namespace penstock::client
