// Rows that a job's caps or its pause hold.
#include <algorithm>
#include <memory>

#include "pipeline/loader/loader_core.h"

namespace penstock::loader {

void LoaderCore::CountLimited() {
  limited_ = 0;
  for (const auto& [id, session] : sessions_) {
    if (!session->closing && session->activity->throttle().limits()) ++limited_;
  }
}

void LoaderCore::PausesChanged() {
  MutexLock lock(&mutex_);
  LookAtIdle(true);
  for (const auto& [id, session] : sessions_) {
    if (session->closing) continue;
    JobThrottle& throttle = session->activity->throttle();
    throttle.SetPaused(session->job->paused());
    if (throttle.limits()) continue;
    throttle.EndLook(options_.clock->Now());
    scheduler_.SetHeld(id, false);
  }
  CountLimited();
  HoldRows();
  if (!scheduler_.empty()) WakeAll();
}

void LoaderCore::HoldRows() {
  held_until_ = JobThrottle::kNever;
  if (limited_ == 0) return;
  const Nanos now = options_.clock->Now();
  for (const auto& [id, session] : sessions_) {
    JobThrottle& throttle = session->activity->throttle();
    if (session->closing || !throttle.limits()) continue;
    const Nanos at = throttle.MayStartAt(now, states_.wanted());
    const bool held = at > now;
    if (held != scheduler_.held(id)) LookAtIdle();
    scheduler_.SetHeld(id, held);
    const bool waits = held && scheduler_.waiting(id) > 0;
    throttle.Look(now, waits);
    if (waits) held_until_ = std::min(held_until_, at);
  }
}

void LoaderCore::WakeForHeldRows() {
  if (held_until_ >= held_timer_) return;
  held_timer_ = held_until_;
  executor_->PostAt(held_timer_, [weak = weak_from_this(), at = held_timer_] {
    const std::shared_ptr<LoaderCore> self = weak.lock();
    if (self == nullptr) return;
    MutexLock lock(&self->mutex_);
    if (self->held_timer_ == at) self->held_timer_ = JobThrottle::kNever;
    self->WakeForRows();
  });
}

}  // namespace penstock::loader
