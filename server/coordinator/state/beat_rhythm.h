// When the processes of a fleet speak next. Each of them wakes several of gRPC's threads, unless they are awake
// already: what comes together costs the coordinator less than half of what comes evenly. So they are all told the same
// moments, a bounded number of them each. Pure.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_BEAT_RHYTHM_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_BEAT_RHYTHM_H_

#include <cstddef>
#include <string_view>

#include "base/runtime/clock.h"

namespace penstock {

// Processes that speak at one moment; more have moments of their own, evenly in the period.
inline constexpr size_t kSpeakersAtOnce = 500;

// In a fleet of so many processes they speak less often.
inline constexpr size_t kManySpeakers = 100;

// How often each of `speakers` speaks. Few: as `asked`. Many: 1.5 times as seldom, but at least twice in the time after
// which silence is death.
Nanos BeatPeriod(size_t speakers, Nanos asked, Nanos dead_after);

// From `now` to the next moment of `who`, one of `speakers` that speak once in each `period`: more than a quarter of
// the period and at most five quarters of it, and one period for all who came in time. `period` is positive.
Nanos UntilNextBeat(Nanos now, Nanos period, size_t speakers, std::string_view who);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_BEAT_RHYTHM_H_
