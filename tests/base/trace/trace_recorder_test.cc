#include "base/trace/trace_recorder.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace penstock {
namespace {

TraceEvent At(Nanos begin, Nanos end) {
  TraceEvent event;
  event.begin = begin;
  event.end = end;
  return event;
}

uint64_t EventsOf(const TraceRecording& recording) {
  uint64_t events = 0;
  for (const auto& track : recording.tracks) events += track.events.size();
  return events;
}

TEST(TraceRecorder, RecordsOnlyBetweenBeginAndEnd) {
  TraceRecorder recorder;
  ManualClock clock;
  { const TraceSpan off(&recorder, &clock, "copy", "receive"); }
  EXPECT_EQ(recorder.Track("x"), nullptr);
  recorder.Begin("train", 1000, 5);
  EXPECT_TRUE(recorder.Wants("train"));
  EXPECT_FALSE(recorder.Wants("other"));
  const std::shared_ptr<TraceTrack> track = recorder.Track("x");
  track->Add(At(6, 7));
  const TraceRecording recording = recorder.End(9);
  EXPECT_EQ(recording.began, 5);
  EXPECT_EQ(recording.ended, 9);
  EXPECT_EQ(EventsOf(recording), 1u);
  track->Add(At(10, 11));  // too late, and harmless
  EXPECT_FALSE(recorder.Wants("train"));
  recorder.Begin("train", 1000, 20);
  EXPECT_EQ(EventsOf(recorder.End(21)), 0u);
  EXPECT_TRUE(recorder.End(22).tracks.empty());
}

TEST(TraceRecorder, SpansOfAThreadNestAndHaveNames) {
  TraceRecorder recorder;
  ManualClock clock;
  recorder.Begin("train", 1000, 0);
  {
    TraceSpan outer(&recorder, &clock, "copy", "receive");
    outer.event().bytes = 77;
    clock.Advance(1);
    {
      const TraceSpan inner(&recorder, &clock, "copy", "assemble");
      clock.Advance(2);
    }
    clock.Advance(4);
  }
  const TraceRecording recording = recorder.End(clock.Now());
  ASSERT_EQ(recording.tracks.size(), 1u);
  EXPECT_EQ(recording.tracks[0].name, "copy 1");
  const std::vector<TraceEvent>& events = recording.tracks[0].events;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(recording.names[events[0].name], "assemble");
  EXPECT_EQ(events[0].begin, 1);
  EXPECT_EQ(events[0].end, 3);
  EXPECT_EQ(recording.names[events[1].name], "receive");
  EXPECT_EQ(events[1].begin, 0);
  EXPECT_EQ(events[1].end, 7);
  EXPECT_EQ(events[1].bytes, 77u);
}

TEST(TraceRecorder, AFullTrackDropsAndCountsItsOldestEvents) {
  TraceRecorder recorder;
  recorder.Begin("train", 10 * TraceRecorder::kMostTrackEvents, 0);
  const auto track = recorder.Track("x");
  constexpr Nanos kAll = TraceRecorder::kMostTrackEvents + 100;
  for (Nanos i = 0; i < kAll; ++i) track->Add(At(i, i));
  const TraceRecording recording = recorder.End(kAll);
  ASSERT_EQ(recording.tracks.size(), 1u);
  EXPECT_EQ(recording.tracks[0].dropped, 100u);
  const std::vector<TraceEvent>& events = recording.tracks[0].events;
  ASSERT_EQ(events.size(), TraceRecorder::kMostTrackEvents);
  for (size_t i = 0; i < events.size(); ++i) ASSERT_EQ(events[i].begin, static_cast<Nanos>(i) + 100);
}

TEST(TraceRecorder, AllTracksTogetherStayWithinTheLimit) {
  TraceRecorder recorder;
  constexpr size_t kMost = 5000;
  recorder.Begin("train", kMost, 0);
  uint64_t added = 0;
  for (int t = 0; t < 20; ++t) {
    const auto track = recorder.Track("track " + std::to_string(t));
    for (Nanos i = 0; i < 3000; ++i, ++added) track->Add(At(i, i));
  }
  const TraceRecording recording = recorder.End(1);
  uint64_t dropped = 0;
  for (const auto& track : recording.tracks) dropped += track.dropped;
  EXPECT_LE(EventsOf(recording), kMost);
  EXPECT_GE(EventsOf(recording), kMost / 2);
  EXPECT_EQ(EventsOf(recording) + dropped, added);
}

TEST(TraceRecorder, EachThreadHasATrackAndMayRecordDuringEnd) {
  ManualClock clock;
  TraceRecorder recorder;
  recorder.Begin("train", 100000, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&recorder, &clock] {
      for (int i = 0; i < 1000; ++i) const TraceSpan span(&recorder, &clock, "copy", "receive");
    });
  }
  const TraceRecording first = recorder.End(1);
  recorder.Begin("train", 100000, 2);
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> names;
  for (const auto& track : recorder.End(3).tracks) names.insert(track.name);
  for (const auto& track : first.tracks) names.insert(track.name);
  for (const std::string& name : names) EXPECT_EQ(name.rfind("copy ", 0), 0u) << name;
}

}  // namespace
}  // namespace penstock
