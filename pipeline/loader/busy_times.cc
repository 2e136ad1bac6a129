#include "pipeline/loader/busy_times.h"

#include <pthread.h>

namespace penstock {
namespace {

Nanos CpuTime(clockid_t clock) {
  timespec time;
  return clock_gettime(clock, &time) == 0 ? time.tv_sec * kSecond + time.tv_nsec : 0;
}

}  // namespace

void BusyTimes::Begins(int thread) {
  Thread& self = threads_[static_cast<size_t>(thread)];
  self.runs = pthread_getcpuclockid(pthread_self(), &self.cpu_clock) == 0;
}

void BusyTimes::Ends(int thread) {
  HasNone(thread);
  Thread& self = threads_[static_cast<size_t>(thread)];
  if (self.runs) self.cpu = CpuTime(self.cpu_clock);
  self.runs = false;
}

void BusyTimes::HasRow(int thread) {
  Thread& self = threads_[static_cast<size_t>(thread)];
  if (self.busy_since >= 0) return;
  self.busy_since = clock_->Now();
  if (busy_threads_++ == 0) owing_since_ = self.busy_since;
}

void BusyTimes::HasNone(int thread) {
  Thread& self = threads_[static_cast<size_t>(thread)];
  if (self.busy_since < 0) return;
  const Nanos now = clock_->Now();
  busy_ += now - self.busy_since;
  self.busy_since = -1;
  if (--busy_threads_ == 0) owing_ += now - owing_since_;
}

void BusyTimes::Count(int threads) {
  const Nanos now = clock_->Now();
  for (Thread& thread : threads_) {
    if (thread.busy_since < 0) continue;
    busy_ += now - thread.busy_since;
    thread.busy_since = now;
  }
  counted_busy_ += static_cast<double>(busy_) / kSecond / counted_;
  busy_ = 0;
  counted_ = threads;
}

void BusyTimes::AddTo(LoaderStats* stats) const {
  const Nanos now = clock_->Now();
  Nanos cpu = 0, busy = busy_;
  for (const Thread& thread : threads_) {
    cpu += thread.runs ? CpuTime(thread.cpu_clock) : thread.cpu;
    if (thread.busy_since >= 0) busy += now - thread.busy_since;
  }
  const Nanos owing = owing_ + (busy_threads_ > 0 ? now - owing_since_ : 0);
  stats->cpu_seconds = static_cast<double>(cpu) / kSecond;
  stats->busy_seconds = counted_busy_ + static_cast<double>(busy) / kSecond / counted_;
  stats->owing_seconds = static_cast<double>(owing) / kSecond;
}

}  // namespace penstock
