// The workers that a session knows, and the state of its stream to each.
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

namespace penstock::client {

constexpr uint32_t kNoWorker = UINT32_MAX;

struct TrackedWorker {
  enum class State : uint8_t {
    kIdle,      // no stream; assumed to work until tried
    kOpening,   // first stream, no answer yet; assumed to work
    kUp,        // it answers
    kBroken,    // its last stream broke; retried at retry_at
    kRetrying,  // a stream after a break, no answer yet; not relied on
  };

  std::string id;
  std::string address;
  std::string local;     // address for processes of its host
  std::string name;      // for display
  std::string tls_name;  // name in its certificate; empty: it serves plaintext
  State state = State::kIdle;
  bool in_view = false;   // in the latest view
  bool draining = false;  // it announced that it leaves: no new requests
  // The worker owed rows that the trainer waited for, but was silent. Until it sends, the core requests its rows near
  // the head from other workers.
  bool suspect = false;
  // The worker sends, but delays the trainer, because it needs far longer for its share than the others. The core
  // requests its rows near the head from the others, and none of theirs from it.
  bool slow = false;
  Nanos slow_seen = 0;        // time of the last observation
  uint64_t slow_from = 0;     // the head's ordinal when `slow` was set, or when its stream was last restarted
  Nanos slow_since = 0;       // the time of slow_from
  uint64_t suspect_from = 0;  // the head's ordinal when `suspect` was set
  // A stream to the worker broke after the worker joined the view. Reset when it rejoins the view.
  bool failed = false;
  uint64_t stream = 0;      // the open stream; 0: none
  Nanos last_heard = 0;     // time of any message
  Nanos retry_at = 0;       // for kBroken
  Nanos lost_at = 0;        // time of the last break of an answered or first stream
  Nanos backoff = 0;        // before the next retry
  absl::Status last_error;  // error of the last broken stream, until rows arrive again
  uint64_t view_term = 0;   // the last view sent on this stream
  uint64_t view_number = 0;
  uint64_t owes_before = 0;  // it has requests for rows of steps below this ordinal
  uint64_t fetches = 0;      // unanswered rows of fetches on this stream
  Pace pace;                 // over this and earlier streams
  Nanos last_head_row = 0;   // time of the last row of the head step
  Nanos first_row = -1;      // time of the first row on this stream

  bool has_stream() const { return stream != 0; }
  // Returns true if new rows may be requested from it.
  bool usable() const {
    return !draining && !suspect && !slow && (in_view || state == State::kUp) && state != State::kBroken &&
           state != State::kRetrying;
  }
  // Returns true if it answers. It may be slow or leaving. A fallback if no worker is usable.
  bool answers() const { return state == State::kUp; }
};

// Workers have numbers, which are stable for the session's lifetime. Pure.
class WorkerTable {
 public:
  static constexpr Nanos kFirstBackoff = 100 * kMillisecond;
  static constexpr Nanos kMaxBackoff = 2 * kSecond;

  size_t size() const { return workers_.size(); }
  TrackedWorker& operator[](uint32_t worker) { return workers_[worker]; }
  const TrackedWorker& operator[](uint32_t worker) const { return workers_[worker]; }

  // Installs the workers and addresses of a view. A worker that joins, or rejoins, the view is tried at once. A worker
  // that owns a range, or has a new address, no longer counts as draining. Returns the streams to addresses that are no
  // longer the worker's. The table forgets these streams: their workers count as idle.
  std::vector<uint64_t> Update(const plan::View& view);

  // Returns the worker with this id, or kNoWorker.
  uint32_t Find(const std::string& id) const;
  // Returns the worker of an open stream, or kNoWorker for a closed one.
  uint32_t OfStream(uint64_t stream) const;
  // Returns the numbers of the latest view's workers, in its order.
  const std::vector<uint32_t>& in_view() const { return in_view_; }

  // Assigns a new stream to the worker, which must have none. Returns the stream's number.
  uint64_t Open(uint32_t worker);
  // Records a message on its stream.
  void Heard(uint32_t worker, Nanos now);
  void Broken(uint32_t worker, absl::Status error, Nanos now);
  // Clears the worker's stream, which was closed on purpose.
  void Closed(uint32_t worker);
  // Records valid rows: clears the last error and resets the backoff.
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

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_DELIVERY_WORKER_TABLE_H_
