// Schedules the next report of each process of a fleet. A report wakes several gRPC threads of the coordinator unless
// they are awake already. Reports that arrive together cost the coordinator less than half as much as evenly spread
// ones. Processes therefore share report times. The mean number of processes that share one is bounded. Pure.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_BEAT_RHYTHM_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_BEAT_RHYTHM_H_

#include <cstddef>
#include <string_view>

#include "base/runtime/clock.h"

namespace penstock::coordinator {

// Limit of the mean number of processes that share one report time. A larger fleet gets several report times, evenly
// spaced within the period.
inline constexpr size_t kSpeakersAtOnce = 500;

// A fleet of more processes than this reports less often.
inline constexpr size_t kManySpeakers = 100;

// Returns the interval between two reports of a process. For at most kManySpeakers `speakers` it is `asked`. For more
// it is 1.5 times `asked`, but at most half of `dead_after`, after which the coordinator counts a silent process as
// dead. It is never less than `asked`.
Nanos BeatPeriod(size_t speakers, Nanos asked, Nanos dead_after);

// Returns the time from `now` to the next report of `who`, one of `speakers` processes that each report once per
// `period`. The result is more than a quarter and at most five quarters of the period. A process that reported on time
// waits one period. `period` is positive.
Nanos UntilNextBeat(Nanos now, Nanos period, size_t speakers, std::string_view who);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_BEAT_RHYTHM_H_
