// The workers a session knows of, and how its stream to each is doing.
#ifndef PENSTOCK_CLIENT_DELIVERY_WORKER_TABLE_H_
#define PENSTOCK_CLIENT_DELIVERY_WORKER_TABLE_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "base/runtime/clock.h"
#include "client/delivery/pace.h"
#include "pipeline/plan/view.h"

namespace penstock {

constexpr uint32_t kNoWorker = UINT32_MAX;

struct TrackedWorker {
  enum class State : uint8_t {
    kIdle,      // no stream yet; taken to be well until tried
    kOpening,   // a first stream, nothing heard yet; taken to be well
    kUp,        // it answers
    kBroken,    // its last stream broke; tried again at retry_at
    kRetrying,  // a stream after a break, nothing heard yet; not relied on
  };

  std::string id;
  std::string address;
  std::string local;  // how processes of its host reach it
  State state = State::kIdle;
  bool in_view = false;   // of the latest view
  bool draining = false;  // it said that it leaves: nothing new for it
  // Owed rows that the trainer waited for, and said nothing: rows near the head are asked of others until it speaks.
  bool suspect = false;
  // Sends, but holds the trainer up by needing far longer for its part than others for theirs: rows near the head are
  // asked of these too, and it is not asked for others' rows.
  bool slow = false;
  Nanos slow_seen = 0;        // when it was last found to be so
  uint64_t slow_from = 0;     // the head's ordinal when it became so, or when it was last freed of what it was granted
  uint64_t suspect_from = 0;  // the same of `suspect`
  // Broke, or fell silent, since it is in the view. A worker that comes back into it begins anew.
  bool failed = false;
  uint64_t stream = 0;      // the open one; 0: none
  Nanos last_heard = 0;     // anything at all
  Nanos retry_at = 0;       // kBroken
  Nanos backoff = 0;        // before the next retry
  absl::Status last_error;  // of the stream that broke last, until rows come again
  uint64_t view_term = 0;   // the last view that was sent on this stream
  uint64_t view_number = 0;
  uint64_t owes_before = 0;  // it was asked for rows of steps below this ordinal
  uint64_t fetches = 0;      // rows of fetches that nobody answered yet, on this stream
  Pace pace;                 // of this and earlier streams
  Nanos last_head_row = 0;   // a row of the step that was the head then
  Nanos first_row = -1;      // on this stream

  bool has_stream() const { return stream != 0; }
  // May be relied on for something new.
  bool usable() const {
    return !draining && !suspect && !slow && (in_view || state == State::kUp) && state != State::kBroken &&
           state != State::kRetrying;
  }
  // Answers, though it is slow or leaves: better than nobody.
  bool answers() const { return state == State::kUp; }
};

// Workers have numbers, which they keep for the session's life. Pure.
class WorkerTable {
 public:
  static constexpr Nanos kFirstBackoff = 100 * kMillisecond;
  static constexpr Nanos kMaxBackoff = 2 * kSecond;

  size_t size() const { return workers_.size(); }
  TrackedWorker& operator[](uint32_t worker) { return workers_[worker]; }
  const TrackedWorker& operator[](uint32_t worker) const { return workers_[worker]; }

  // Takes over who is there and where. One that comes (back) into the view is tried at once. Returns the streams that
  // lead to an address that is no longer the worker's (they are forgotten here: the worker counts as idle).
  std::vector<uint64_t> Update(const View& view);

  // The worker of that id, or kNoWorker.
  uint32_t Find(const std::string& id) const;
  // The worker that an open stream leads to, or kNoWorker for one that is closed.
  uint32_t OfStream(uint64_t stream) const;
  // Numbers of the workers of the latest view, in its order.
  const std::vector<uint32_t>& in_view() const { return in_view_; }

  // The stream that is opened for the worker, which has none, from now on.
  uint64_t Open(uint32_t worker);
  // Something came on its stream.
  void Heard(uint32_t worker, Nanos now);
  void Broken(uint32_t worker, absl::Status error, Nanos now);
  // Forgets the worker's stream, which is closed on purpose.
  void Closed(uint32_t worker);
  // Good rows came: the next break is met with a short backoff again, and the last one is over.
  void Proven(uint32_t worker) {
    workers_[worker].backoff = kFirstBackoff;
    workers_[worker].last_error = absl::OkStatus();
  }

 private:
  std::vector<TrackedWorker> workers_;
  std::unordered_map<std::string, uint32_t> by_id_;
  std::unordered_map<uint64_t, uint32_t> by_stream_;
  std::vector<uint32_t> in_view_;
  uint64_t next_stream_ = 1;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_DELIVERY_WORKER_TABLE_H_
