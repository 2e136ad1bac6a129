#include "pipeline/storage/call_queue.h"

namespace penstock::storage {

CallQueue::~CallQueue() {
  {
    MutexLock lock(&state_->mutex);
    state_->closed = true;
  }
  for (;;) {
    {
      MutexLock lock(&state_->mutex);
      bool any = false;
      for (const auto& queue : state_->waiting) any = any || !queue.empty();
      if (!any) break;
    }
    RunOne(state_.get(), true);
  }
  MutexLock lock(&state_->mutex);
  while (state_->running > 0) state_->idle.Wait(&state_->mutex);
}

void CallQueue::RunOne(State* state, bool cancelled) {
  Waiting next;
  {
    MutexLock lock(&state->mutex);
    auto* queue = &state->waiting[0];
    while (queue != &state->waiting.back() && queue->empty()) ++queue;
    if (queue->empty()) return;  // the destructor has already run the call
    next = std::move(queue->front());
    queue->pop_front();
    cancelled = cancelled || state->closed || next.stop.stop_requested();
    ++state->running;
  }
  std::move(next.call)(cancelled);
  next.call = nullptr;
  MutexLock lock(&state->mutex);
  if (--state->running == 0) state->idle.NotifyAll();
}

void CallQueue::Add(const CallOptions& options, Call call) {
  // A turn runs the most urgent call of that time, not necessarily the call that was added with it. If the executor
  // drops a turn, the turn cancels one call.
  struct Turn {
    explicit Turn(std::shared_ptr<State> s) : state(std::move(s)) {}
    Turn(Turn&&) = default;
    ~Turn() {
      if (state != nullptr) RunOne(state.get(), true);
    }
    std::shared_ptr<State> state;
  };
  {
    MutexLock lock(&state_->mutex);
    state_->waiting[static_cast<size_t>(options.priority)].push_back({options.stop, std::move(call)});
  }
  executor_->Post([turn = Turn(state_)]() mutable { RunOne(std::exchange(turn.state, nullptr).get(), false); });
}

}  // namespace penstock::storage
