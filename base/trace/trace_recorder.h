// Records the work of a process's threads for one job during a trace. Without a trace, each possible event costs a load
// and a branch.
//
//   TraceSpan span(recorder, clock, "copy", "assemble");   // from here to the end of the block
//
// Events belong to tracks: one for each thread (TrackOfThread), or for another sequential activity (Track). The spans
// (kSpan) of a track are nested or disjoint. Memory is bounded: if a track or the recorder is full, a new event
// replaces the track's oldest one. A track without any room drops the new event. Tracks count the dropped events.
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
    kOverlapping,  // overlaps with other events of its track
    kRowSent,      // without a duration: a row of the message whose span begins at this time
  };
  static constexpr uint64_t kNone = UINT64_MAX;

  Nanos begin = 0, end = 0;
  uint64_t epoch = 0;
  uint64_t position = kNone;  // position of the row, the first row, or the step
  uint64_t record = kNone;
  uint64_t bytes = 0;
  // For an event that consists of pieces: the time from the first piece to `end`. The event is shown as one, with the
  // total length of the pieces. 0: a single piece.
  Nanos spread = 0;
  uint32_t rows = 0;  // rows of a message
  uint16_t name = 0;  // index in TraceRecording::names
  Kind kind = Kind::kSpan;
};

// The result of a recording.
struct TraceRecording {
  struct Track {
    std::string name;
    std::string session;
    std::vector<TraceEvent> events;  // in the order of Add()
    uint64_t dropped = 0;
  };
  Nanos began = 0, ended = 0;
  std::vector<std::string> names;
  std::vector<Track> tracks;
};

class TraceRecorder;

// Thread-safe. May outlive its recording; later events are dropped.
class TraceTrack {
 public:
  void Add(const TraceEvent& event);

 private:
  friend class TraceRecorder;
  TraceTrack(std::string name, std::string session, std::shared_ptr<std::atomic<int64_t>> room)
      : name_(std::move(name)), session_(std::move(session)), room_(std::move(room)) {}

  const std::string name_, session_;
  const std::shared_ptr<std::atomic<int64_t>> room_;  // the recorder's remaining room, in events
  Mutex mutex_;
  std::vector<TraceEvent> events_ ABSL_GUARDED_BY(mutex_);  // a ring buffer when it no longer grows
  size_t oldest_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

// Thread-safe.
class TraceRecorder {
 public:
  // Maximum number of events of a track.
  static constexpr size_t kMostTrackEvents = 65536;

  // Starts a new recording of at most `most_events` events. Drops a recording that is running.
  void Begin(std::string job, size_t most_events, Nanos now);
  // Ends the recording and returns it. Returns an empty one if none is running.
  TraceRecording End(Nanos now);

  bool on() const { return on_.load(std::memory_order_relaxed); }
  // Returns the number of the recording, which no other recording has.
  uint64_t number() const { return number_.load(); }
  // Returns true if a recording of this job is running.
  bool Wants(std::string_view job) const;

  // Returns a track, which is created on first use. Returns null if no recording is running.
  std::shared_ptr<TraceTrack> Track(const std::string& name, const std::string& session = "");
  // Returns the calling thread's track: "copy 1", "copy 2", ... in the order of the first calls. Returns null if no
  // recording is running.
  std::shared_ptr<TraceTrack> TrackOfThread(std::string_view kind);
  // Returns the index of an event's name in this recording. Returns 0, the index of "", if no recording is running or
  // it has too many names.
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
  std::map<std::string, int, std::less<>> kinds_ ABSL_GUARDED_BY(mutex_);  // number of threads of each kind so far
};

// A span of the calling thread, from construction to destruction. Does nothing if `recorder` is null or not recording.
class TraceSpan {
 public:
  // `clock` must outlive the span.
  TraceSpan(TraceRecorder* recorder, const Clock* clock, std::string_view thread_kind, std::string_view name)
      : clock_(clock) {
    if (recorder != nullptr && recorder->on()) Start(recorder, thread_kind, name);
  }
  ~TraceSpan() {
    if (track_ != nullptr) End();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

  // Returns the event, whose fields may be set until the end of the span.
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
