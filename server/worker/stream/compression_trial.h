// Whether the rows of one stream go compressed: tried where the stream's link is what holds it up, and kept where more
// rows come through that way.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_COMPRESSION_TRIAL_H_
#define PENSTOCK_SERVER_WORKER_STREAM_COMPRESSION_TRIAL_H_

#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock {

// Pure: is told of each message, and of the time. Not thread-safe.
//
// What is compared are bytes of rows in the time that a stream is busy with them (compressing and writing), so that
// neither a trainer that wants less nor rows that are long in the making have a say. It looks at windows of kWindow of
// such time. Compression is tried when most messages of a window had the next one waiting behind them; it is kept while
// it brings kWorth times as much, which is looked at again now and then. A trial that came to nothing is not repeated
// for a while, which doubles.
class CompressionTrial {
 public:
  static constexpr Nanos kWindow = kSecond;
  static constexpr uint32_t kLeastMessages = 8;
  static constexpr double kWorth = 1.15;
  static constexpr Nanos kFirstPause = 30 * kSecond;
  static constexpr Nanos kLongestPause = 600 * kSecond;
  // A window that takes so long: the stream is seldom busy, so that its link holds nothing up.
  static constexpr Nanos kStale = 10 * kSecond;

  // Whether the next message is to be compressed.
  bool compress() const { return state_ == State::kTrying || state_ == State::kOn; }

  // A message of so many bytes of rows (before compression) has gone, after `busy`; `held_up`: the next one waited for
  // that. True where a trial has ended so that it is on now and was not before, or the other way round.
  bool Sent(uint64_t row_bytes, Nanos busy, bool held_up, Nanos now);

  // The link has changed: a comparison that is under way begins anew.
  void Restart();

  // How many times as many rows come through, by the last trial.
  double gain() const { return gain_; }
  // For people: compression was found to pay, and no trial has found otherwise since.
  bool on() const { return on_; }

 private:
  enum class State { kOff, kTrying, kOn, kChecking };
  struct Window {
    Nanos began = -1;
    Nanos busy = 0;
    uint64_t bytes = 0;
    uint32_t messages = 0;
    uint32_t held_up = 0;

    double rate() const { return static_cast<double>(bytes) / static_cast<double>(busy); }
  };

  void GoTo(State state, Nanos now);
  // Of kOff and kOn: not before this the other is tried again.
  void Pause(Nanos now);

  State state_ = State::kOff;
  Window window_;
  double off_rate_ = 0, on_rate_ = 0;
  double gain_ = 1;
  bool on_ = false;
  Nanos pause_ = kFirstPause;
  Nanos not_before_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_COMPRESSION_TRIAL_H_
