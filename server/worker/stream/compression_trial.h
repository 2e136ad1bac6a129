// Decides whether the rows of one stream are compressed. It tries compression if the link delays the stream, and keeps
// it if more rows get through.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_COMPRESSION_TRIAL_H_
#define PENSTOCK_SERVER_WORKER_STREAM_COMPRESSION_TRIAL_H_

#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock::worker {

// Pure: the caller reports each message and the time. Not thread-safe.
//
// A trial compares the bytes of rows per time that the stream is busy with them, compressing and writing. Therefore
// neither a slow trainer nor slowly made rows affect the result. A window has kWindow of busy time and at least
// kLeastMessages messages. A trial starts after a window in which most messages delayed the next one. Compression stays
// on if it increases the rate at least by the factor kWorth. A later trial checks this again, and that uncompressed
// rows would still delay each other. Each trial ends with a pause. The pause is kFirstPause after a change, and doubles
// after each trial without one, up to kLongestPause.
class CompressionTrial {
 public:
  static constexpr Nanos kWindow = kSecond;
  static constexpr uint32_t kLeastMessages = 8;
  static constexpr double kWorth = 1.15;
  static constexpr Nanos kFirstPause = 30 * kSecond;
  static constexpr Nanos kLongestPause = 600 * kSecond;
  // A window that takes this long shows that the stream is rarely busy, so its link delays nothing.
  static constexpr Nanos kStale = 10 * kSecond;

  // Returns whether to compress the next message.
  bool compress() const { return state_ == State::kTrying || state_ == State::kOn; }

  // Records a sent message: the bytes of its rows before compression and the time that it took. `held_up`: the next
  // message waited for it. Returns true if a trial has ended and changed on().
  bool Sent(uint64_t row_bytes, Nanos busy, bool held_up, Nanos now);

  // Restarts a running comparison, because the link has changed.
  void Restart();

  // Returns the factor by which compression increases the rate, from the last trial.
  double gain() const { return gain_; }
  // Returns whether compression pays, according to the last completed trial, for people.
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
  // In kOff and kOn: delays the next trial.
  void Pause(Nanos now);

  State state_ = State::kOff;
  Window window_;
  double off_rate_ = 0, on_rate_ = 0;
  double gain_ = 1;
  bool on_ = false;
  Nanos pause_ = kFirstPause;
  Nanos not_before_ = 0;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_COMPRESSION_TRIAL_H_
