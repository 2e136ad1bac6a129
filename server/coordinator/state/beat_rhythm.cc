#include "server/coordinator/state/beat_rhythm.h"

#include <cstdint>

#include "base/hash.h"

namespace penstock {

Nanos UntilNextBeat(Nanos now, Nanos period, size_t speakers, std::string_view who) {
  const size_t moments = speakers / kSpeakersAtOnce + 1;
  const auto mine = static_cast<Nanos>(Hash64(who) % moments);
  const Nanos offset = period / static_cast<Nanos>(moments) * mine;
  const Nanos since = (now - offset) % period;  // what is negative stays so
  const Nanos until = period - (since < 0 ? since + period : since);
  return until > period / 4 ? until : until + period;
}

}  // namespace penstock
