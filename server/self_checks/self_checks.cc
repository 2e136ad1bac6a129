#include "server/self_checks/self_checks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "net/checks/host_checks.h"

namespace penstock::server {
namespace {

constexpr Nanos kTick = kSecond;
constexpr Nanos kStopWait = kSecond;

}  // namespace

SelfChecks::SelfChecks(std::vector<SelfCheck> checks, Clock* clock)
    : checks_(std::move(checks)), clock_(clock), states_(checks_.size()) {}

void SelfChecks::RunDue() {
  for (size_t i = 0; i < checks_.size(); ++i) {
    {
      MutexLock lock(&mutex_);
      State& state = states_[i];
      const Nanos now = clock_->Now();
      if (state.running_since.has_value() || (state.due.has_value() && now < *state.due)) continue;
      state.running_since = now;
    }
    v1::Finding found = checks_[i].find();
    found.set_check(checks_[i].name);
    MutexLock lock(&mutex_);
    states_[i] = {std::nullopt, clock_->Now() + checks_[i].every, std::move(found)};
  }
}

size_t SelfChecks::running() const {
  MutexLock lock(&mutex_);
  size_t count = 0;
  for (const State& state : states_) count += state.running_since.has_value() ? 1 : 0;
  return count;
}

void SelfChecks::CopyTo(google::protobuf::RepeatedPtrField<v1::Finding>* out) const {
  MutexLock lock(&mutex_);
  const Nanos now = clock_->Now();
  for (size_t i = 0; i < checks_.size(); ++i) {
    const State& state = states_[i];
    if (state.running_since.has_value() && now - *state.running_since >= kPatience) {
      v1::Finding* const hangs = out->Add();
      *hangs = net::Fault(absl::StrCat("no answer for ", (now - *state.running_since) / kSecond,
                                       " s. Check the mount, or the server of the storage"));
      hangs->set_check(checks_[i].name);
    } else if (state.last.has_value()) {
      *out->Add() = *state.last;
    }
  }
}

SelfCheckThreads::SelfCheckThreads(std::vector<SelfCheck> checks)
    : parts_(new Parts{{std::move(checks), Clock::Real()}, {1, "ps-check"}}) {
  parts_->threads.Post([parts = parts_.get()] { Tick(parts); });
}

SelfCheckThreads::~SelfCheckThreads() {
  if (!parts_->threads.StopBy(Clock::Real()->Now() + kStopWait)) parts_.release();
}

// At most one more check hangs in each tick, so a thread is free for the next tick.
void SelfCheckThreads::Tick(Parts* parts) {
  parts->threads.GrowTo(static_cast<int>(parts->checks.running()) + 2);
  parts->threads.PostAt(Clock::Real()->Now() + kTick, [parts] { Tick(parts); });
  parts->checks.RunDue();
}

}  // namespace penstock::server
