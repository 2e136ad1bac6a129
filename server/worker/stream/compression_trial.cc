#include "server/worker/stream/compression_trial.h"

#include <algorithm>
#include <utility>

namespace penstock::worker {

void CompressionTrial::GoTo(State state, Nanos now) {
  state_ = state;
  window_ = Window();
  window_.began = now;
}

void CompressionTrial::Pause(Nanos now) {
  not_before_ = now + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
}

void CompressionTrial::Restart() {
  state_ = state_ == State::kOn || state_ == State::kChecking ? State::kOn : State::kOff;
  window_ = Window();
}

bool CompressionTrial::Sent(uint64_t row_bytes, Nanos busy, bool held_up, Nanos now) {
  if (window_.began < 0) window_.began = now - busy;
  window_.busy += std::max<Nanos>(busy, 1);
  window_.bytes += row_bytes;
  ++window_.messages;
  window_.held_up += held_up ? 1 : 0;
  const bool stale = now - window_.began >= kStale && window_.busy < kWindow;
  if (!stale && (window_.busy < kWindow || window_.messages < kLeastMessages)) return false;
  const bool link_holds = !stale && 2 * window_.held_up > window_.messages;
  switch (state_) {
    case State::kOff:
      if (link_holds && now >= not_before_) {
        off_rate_ = window_.rate();
        GoTo(State::kTrying, now);
      } else {
        GoTo(State::kOff, now);
      }
      return false;
    case State::kTrying:
      on_rate_ = window_.rate();
      break;
    case State::kOn:
      on_rate_ = window_.rate();
      // If the link is now fast enough for uncompressed rows, these cost less.
      GoTo(now >= not_before_ ? State::kChecking : State::kOn, now);
      return false;
    case State::kChecking:
      off_rate_ = window_.rate();
      break;
  }
  // The comparison is complete: both rates are measured, one with compression and one without.
  gain_ = on_rate_ / off_rate_;
  const bool pays = gain_ >= kWorth && (link_holds || state_ == State::kTrying);
  const bool was = std::exchange(on_, pays);
  if (was != pays) pause_ = kFirstPause;
  Pause(now);
  GoTo(pays ? State::kOn : State::kOff, now);
  return was != pays;
}

}  // namespace penstock::worker
