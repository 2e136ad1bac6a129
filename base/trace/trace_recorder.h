// Records what a process's threads do for one job while a trace is taken. At all other times it costs a load and a
// branch where something could be recorded.
//
//   TraceSpan span(recorder, clock, job, "copy", "assemble");   // from here to the end of the block
//
// Events go into tracks: one for each thread (TrackOfThread), or for something that has an order of its own (Track).
// A track's spans lie inside each other or beside each other. What is kept is bounded: a track that is full, or finds
// the recorder full, forgets its oldest events and counts them.
#ifndef PENSTOCK_BASE_TRACE_TRACE_RECORDER_H_
#define PENSTOCK_BASE_TRACE_TRACE_RECORDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/clock.h"

namespace penstock {

struct TraceEvent {
  enum class Kind : uint8_t {
    kSpan,
    kAside,    // overlaps with others of its track
    kRowSent,  // no time of its own: a row of the message whose span begins then
  };
  static constexpr uint64_t kNone = UINT64_MAX;

  Nanos begin = 0, end = 0;
  uint64_t epoch = 0;
  uint64_t position = kNone;  // of the row, of the first row, of the step
  uint64_t record = kNone;
  uint64_t bytes = 0;
  // Of what came in pieces: the time that they lay in, until `end`. It is shown as one, as long as all of them. 0: it
  // is one.
  Nanos spread = 0;
  uint32_t rows = 0;  // of a message
  uint16_t name = 0;  // TraceRecording::names
  Kind kind = Kind::kSpan;
};

// What was recorded.
struct TraceRecording {
  struct Track {
    std::string name;
    std::string session;
    std::vector<TraceEvent> events;  // by their ends
    uint64_t dropped = 0;
  };
  Nanos began = 0, ended = 0;
  std::vector<std::string> names;
  std::vector<Track> tracks;
};

class TraceRecorder;

// Thread-safe. Outlives the recording that it is of; what is added then is lost.
class TraceTrack {
 public:
  void Add(const TraceEvent& event);

 private:
  friend class TraceRecorder;
  TraceTrack(std::string name, std::string session, std::shared_ptr<std::atomic<int64_t>> room)
      : name_(std::move(name)), session_(std::move(session)), room_(std::move(room)) {}

  const std::string name_, session_;
  const std::shared_ptr<std::atomic<int64_t>> room_;  // of the recorder, in events
  Mutex mutex_;
  std::vector<TraceEvent> events_ ABSL_GUARDED_BY(mutex_);  // a ring once it grows no more
  size_t oldest_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

// Thread-safe.
class TraceRecorder {
 public:
  // Of one track.
  static constexpr size_t kMostTrackEvents = 65536;

  // Begins anew, with at most `most_events` in all.
  void Begin(std::string job, size_t most_events, Nanos now);
  // Ends it; empty where none was begun.
  TraceRecording End(Nanos now);

  bool on() const { return on_.load(std::memory_order_relaxed); }
  // Another for each recording.
  uint64_t number() const { return number_.load(); }
  // Whether it is on for this job.
  bool Wants(std::string_view job) const;

  // A track, made when it is first asked for; null while nothing is recorded.
  std::shared_ptr<TraceTrack> Track(const std::string& name, const std::string& session = "");
  // The calling thread's: "copy 1", "copy 2", ... in the order of their coming.
  std::shared_ptr<TraceTrack> TrackOfThread(std::string_view kind);
  // The number of an event's name in this recording; 0 ("") when there are too many.
  uint16_t Name(std::string_view name);

 private:
  std::shared_ptr<TraceTrack> TrackLocked(const std::string& name, const std::string& session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<bool> on_{false};
  std::atomic<uint64_t> number_{0};
  mutable Mutex mutex_;
  std::string job_ ABSL_GUARDED_BY(mutex_);
  Nanos began_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<std::atomic<int64_t>> room_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint16_t, std::less<>> names_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, std::shared_ptr<TraceTrack>> tracks_ ABSL_GUARDED_BY(mutex_);
  std::map<std::thread::id, std::shared_ptr<TraceTrack>> of_threads_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int, std::less<>> kinds_ ABSL_GUARDED_BY(mutex_);  // of threads, so far
};

// A span of the calling thread, from its making to its end. Does nothing where `recorder` is null or off.
class TraceSpan {
 public:
  // `clock` outlives it.
  TraceSpan(TraceRecorder* recorder, const Clock* clock, std::string_view thread_kind, std::string_view name)
      : clock_(clock) {
    if (recorder != nullptr && recorder->on()) Start(recorder, thread_kind, name);
  }
  ~TraceSpan() {
    if (track_ != nullptr) End();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  // What it is of, at any time before its end.
  TraceEvent& event() { return event_; }

 private:
  void Start(TraceRecorder* recorder, std::string_view thread_kind, std::string_view name);
  void End();

  const Clock* const clock_;
  std::shared_ptr<TraceTrack> track_;
  TraceEvent event_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_TRACE_TRACE_RECORDER_H_
