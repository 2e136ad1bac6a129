#include "pipeline/loader/busy_times.h"

#include <pthread.h>

namespace penstock::loader {
namespace {

Nanos CpuTime(clockid_t clock) {
  timespec time;
  return clock_gettime(clock, &time) == 0 ? time.tv_sec * kSecond + time.tv_nsec : 0;
}

}  // namespace

void BusyTimes::Runs(int maker) {
  Maker& self = makers_[static_cast<size_t>(maker)];
  if (self.runs) return;
  self.runs = pthread_getcpuclockid(pthread_self(), &self.cpu_clock) == 0;
  if (self.runs) self.cpu_began = CpuTime(self.cpu_clock);
}

void BusyTimes::Rests(int maker) {
  Maker& self = makers_[static_cast<size_t>(maker)];
  if (self.runs) cpu_ += CpuTime(self.cpu_clock) - self.cpu_began;
  self.runs = false;
}

void BusyTimes::HasRow(int maker) {
  Maker& self = makers_[static_cast<size_t>(maker)];
  if (self.busy_since >= 0) return;
  self.busy_since = clock_->Now();
  if (busy_makers_++ == 0) owing_since_ = self.busy_since;
}

void BusyTimes::HasNone(int maker) {
  Maker& self = makers_[static_cast<size_t>(maker)];
  if (self.busy_since < 0) return;
  const Nanos now = clock_->Now();
  busy_ += now - self.busy_since;
  self.busy_since = -1;
  if (--busy_makers_ == 0) owing_ += now - owing_since_;
}

void BusyTimes::Count(int makers) {
  const Nanos now = clock_->Now();
  for (Maker& maker : makers_) {
    if (maker.busy_since < 0) continue;
    busy_ += now - maker.busy_since;
    maker.busy_since = now;
  }
  counted_busy_ += static_cast<double>(busy_) / kSecond / counted_;
  busy_ = 0;
  counted_ = makers;
}

void BusyTimes::AddTo(LoaderStats* stats) const {
  const Nanos now = clock_->Now();
  Nanos cpu = cpu_, busy = busy_;
  for (const Maker& maker : makers_) {
    if (maker.runs) cpu += CpuTime(maker.cpu_clock) - maker.cpu_began;
    if (maker.busy_since >= 0) busy += now - maker.busy_since;
  }
  const Nanos owing = owing_ + (busy_makers_ > 0 ? now - owing_since_ : 0);
  stats->cpu_seconds = static_cast<double>(cpu) / kSecond;
  stats->busy_seconds = counted_busy_ + static_cast<double>(busy) / kSecond / counted_;
  stats->owing_seconds = static_cast<double>(owing) / kSecond;
}

}  // namespace penstock::loader
