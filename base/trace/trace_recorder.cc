#include "base/trace/trace_recorder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr size_t kMostNames = 1024;
// Minimum growth of a track: it reserves room from the recorder in pieces.
constexpr int64_t kPiece = 512;

}  // namespace

void TraceTrack::Add(const TraceEvent& event) {
  MutexLock lock(&mutex_);
  if (over_) return;
  if (events_.size() == events_.capacity() && events_.size() < TraceRecorder::kMostTrackEvents) {
    // Grow only before the first event is dropped: a ring buffer that has wrapped around does not grow.
    const int64_t piece = std::max<int64_t>(kPiece, static_cast<int64_t>(events_.size()));
    if (dropped_ == 0 && room_->fetch_sub(piece) >= piece) {
      events_.reserve(events_.size() + static_cast<size_t>(piece));
    } else if (dropped_ == 0) {
      room_->fetch_add(piece);
    }
  }
  if (events_.size() < events_.capacity()) {
    events_.push_back(event);
    return;
  }
  ++dropped_;
  if (events_.empty()) return;
  events_[oldest_] = event;
  oldest_ = (oldest_ + 1) % events_.size();
}

void TraceRecorder::Begin(std::string job, size_t most_events, Nanos now) {
  End(now);
  MutexLock lock(&mutex_);
  job_ = std::move(job);
  began_ = now;
  room_ = std::make_shared<std::atomic<int64_t>>(static_cast<int64_t>(most_events));
  names_[""] = 0;
  number_.fetch_add(1);
  on_.store(true);
}

TraceRecording TraceRecorder::End(Nanos now) {
  TraceRecording recording;
  MutexLock lock(&mutex_);
  if (!on_.exchange(false)) return recording;
  recording.began = began_;
  recording.ended = now;
  recording.names.resize(names_.size());
  for (const auto& [name, number] : names_) recording.names[number] = name;
  for (const auto& [key, track] : tracks_) {
    MutexLock track_lock(&track->mutex_);
    track->over_ = true;
    TraceRecording::Track& out = recording.tracks.emplace_back();
    out.name = track->name_;
    out.session = track->session_;
    out.dropped = track->dropped_;
    out.events.swap(track->events_);
    std::rotate(out.events.begin(), out.events.begin() + static_cast<std::ptrdiff_t>(track->oldest_), out.events.end());
  }
  names_.clear();
  tracks_.clear();
  of_threads_.clear();
  kinds_.clear();
  room_ = nullptr;
  return recording;
}

bool TraceRecorder::Wants(std::string_view job) const {
  if (!on()) return false;
  MutexLock lock(&mutex_);
  return job == job_;
}

std::shared_ptr<TraceTrack> TraceRecorder::TrackLocked(const std::string& name, const std::string& session) {
  std::shared_ptr<TraceTrack>& track = tracks_[{name, session}];
  if (track == nullptr) track = std::shared_ptr<TraceTrack>(new TraceTrack(name, session, room_));
  return track;
}

std::shared_ptr<TraceTrack> TraceRecorder::Track(const std::string& name, const std::string& session) {
  MutexLock lock(&mutex_);
  return on() ? TrackLocked(name, session) : nullptr;
}

std::shared_ptr<TraceTrack> TraceRecorder::TrackOfThread(std::string_view kind) {
  MutexLock lock(&mutex_);
  if (!on()) return nullptr;
  std::shared_ptr<TraceTrack>& track = of_threads_[std::this_thread::get_id()];
  if (track == nullptr) {
    auto number = kinds_.find(kind);
    if (number == kinds_.end()) number = kinds_.emplace(kind, 0).first;
    track = TrackLocked(absl::StrCat(std::string(kind), " ", ++number->second), "");
  }
  return track;
}

uint16_t TraceRecorder::Name(std::string_view name) {
  MutexLock lock(&mutex_);
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  if (!on() || names_.size() >= kMostNames) return 0;
  const auto number = static_cast<uint16_t>(names_.size());
  names_.emplace(name, number);
  return number;
}

void TraceSpan::Start(TraceRecorder* recorder, std::string_view thread_kind, std::string_view name) {
  event_.name = recorder->Name(name);
  track_ = recorder->TrackOfThread(thread_kind);
  event_.begin = clock_->Now();
}

void TraceSpan::End() {
  event_.end = clock_->Now();
  track_->Add(event_);
}

}  // namespace penstock
