#include "server/coordinator/state/beat_rhythm.h"

#include <algorithm>
#include <cstdint>

#include "base/hash.h"

namespace penstock::coordinator {

Nanos BeatPeriod(size_t speakers, Nanos asked, Nanos dead_after) {
  if (speakers <= kManySpeakers) return asked;
  return std::max(asked, std::min(asked + asked / 2, dead_after / 2));
}

Nanos UntilNextBeat(Nanos now, Nanos period, size_t speakers, std::string_view who) {
  const size_t moments = speakers / kSpeakersAtOnce + 1;
  const auto mine = static_cast<Nanos>(Hash64(who) % moments);
  const Nanos offset = period / static_cast<Nanos>(moments) * mine;
  const Nanos since = (now - offset) % period;  // a negative remainder stays negative
  const Nanos until = period - (since < 0 ? since + period : since);
  return until > period / 4 ? until : until + period;
}

}  // namespace penstock::coordinator
