// tests/golden/trace.json is the writer's output for the parts below. To write it again, run this from the repository's
// root, and check the difference, also in ui.perfetto.dev:
//   PENSTOCK_WRITE_GOLDEN=1 build/release/tests/client/cli/cli_test --gtest_filter='TraceJson.*'
#include "client/cli/trace/trace_json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/file.h"
#include "client/cli/trace/trace_model.h"

namespace penstock::cli {
namespace {

constexpr char kPath[] = "tests/golden/trace.json";

class PartBuilder {
 public:
  PartBuilder(const std::string& process, bool worker, Nanos least, Nanos most) {
    part_.set_process(process);
    part_.set_worker(worker);
    part_.set_host(worker ? "gpu7" : "gpu1");
    part_.set_version("0.3.0");
    part_.set_least_offset(least);
    part_.set_most_offset(most);
    part_.set_round_trip(static_cast<uint64_t>(most - least));
    part_.set_exchanges(16);
    part_.set_began(1'000'000);
    part_.set_ended(9'000'000);
  }
  v1::TraceTrack* Track(const std::string& name, const std::string& session = "") {
    v1::TraceTrack* const track = part_.add_tracks();
    track->set_name(name);
    track->set_session(session);
    return track;
  }
  v1::TraceEvent* Span(v1::TraceTrack* track, const std::string& name, Nanos begin, Nanos length) {
    v1::TraceEvent* const event = track->add_events();
    event->set_name(static_cast<uint32_t>(part_.names_size()));
    part_.add_names(name);
    event->set_begin(begin);
    event->set_length(static_cast<uint64_t>(length));
    return event;
  }
  v1::TracePart& part() { return part_; }

 private:
  v1::TracePart part_;
};

v1::TraceEvent* Of(v1::TraceEvent* event, uint64_t epoch, uint64_t position, uint64_t rows = 0) {
  event->set_epoch(epoch);
  event->set_position(position + 1);
  event->set_rows(rows);
  return event;
}

// Two rows from a worker to a trainer. With the middles of the bounds they would arrive before they were sent.
TraceInput ExampleTrace() {
  PartBuilder worker("w-1", true, 100'000, 300'000);
  v1::TraceTrack* rows = worker.Track("row thread 1");
  rows->set_dropped(3);
  worker.Span(rows, "read", 1000, 2000);
  worker.Span(rows, "decode", 4000, 5000)->set_spread(6000);
  Of(worker.Span(rows, "row", 500, 10'000), 2, 64)->set_record(18);
  Of(worker.Span(rows, "row", 11'000, 9'000), 2, 65)->set_record(99);
  v1::TraceTrack* send = worker.Track("send to s-1", "s-1");
  for (const uint64_t position : {64, 65}) {
    v1::TraceEvent* const sent = Of(worker.Span(send, "", 21'000, 0), 2, position);
    sent->set_kind(v1::TraceEvent::ROW_SENT);
  }
  worker.Span(send, "make message", 21'000, 100);
  Of(worker.Span(send, "send", 21'000, 900), 2, 64, 2)->set_bytes(3000);
  v1::TraceEvent* const background = Of(worker.Span(worker.Track("reads of rows that wait"), "read", 100, 7000), 2, 66);
  background->set_kind(v1::TraceEvent::ASIDE);

  PartBuilder trainer("s-2", false, -50'000, 50'000);
  trainer.part().add_sessions("s-1");
  v1::TraceTrack* copy = trainer.Track("copy 1");
  trainer.Span(copy, "assemble", 130'500, 400);
  Of(trainer.Span(copy, "receive", 130'000, 2'000), 2, 64, 2)->set_bytes(3000);
  Of(trainer.Span(copy, "seal", 131'000, 500), 2, 64, 2);
  v1::TraceTrack* thread = trainer.Track("trainer");
  Of(trainer.Span(thread, "wait", 10'000, 125'000), 2, 64, 2);
  trainer.Span(thread, "trainer's work", 135'000, 1000);

  TraceInput input;
  input.job = "train \"é\"";
  input.version = "0.3.0";
  input.parts = {worker.part(), trainer.part()};
  v1::MissingProcess& missing = input.missing.emplace_back();
  missing.set_process("w-2");
  missing.set_worker(true);
  missing.set_why("it was silent during the trace");
  input.place = [](uint64_t record, std::string* file, uint64_t* number) {
    *file = "a/images-00000.tfrecord";
    *number = record;
    return record < 50;
  };
  return input;
}

TEST(TraceJson, EqualsTheGoldenFile) {
  TraceSummary summary;
  const std::string json = TraceJson(ExampleTrace(), &summary);
  EXPECT_EQ(summary.workers, 1);
  EXPECT_EQ(summary.trainers, 1);
  EXPECT_EQ(summary.rows, 2u);
  EXPECT_EQ(summary.dropped, 3u);
  if (std::getenv("PENSTOCK_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(kPath, json).ok());
  }
  const absl::StatusOr<std::string> golden = ReadWholeFile(kPath);
  ASSERT_TRUE(golden.ok()) << golden.status();
  EXPECT_EQ(json, *golden);
}

TEST(TraceModel, NoMessageArrivesBeforeItIsSentAndClocksStayInTheirBounds) {
  const TraceModel model = MakeTraceModel(ExampleTrace().parts);
  ASSERT_EQ(model.processes.size(), 2u);
  EXPECT_FALSE(model.processes[0].worker);
  for (const TraceModel::Process& process : model.processes) {
    EXPECT_GE(process.offset, process.clock.least);
    EXPECT_LE(process.offset, process.clock.most);
  }
  ASSERT_EQ(model.flows.size(), 3u);  // two rows and a step
  for (const TraceModel::Flow& flow : model.flows) {
    for (size_t i = 1; i < flow.places.size(); ++i) EXPECT_LE(flow.places[i - 1].at, flow.places[i].at) << flow.name;
  }
}

TEST(TraceModel, JoinsThePiecesOfATrackInOrder) {
  std::vector<v1::TracePart> parts = ExampleTrace().parts;
  v1::TracePart late = parts[0];
  late.clear_tracks();
  v1::TraceTrack* const more = late.add_tracks();
  more->set_name("row thread 10");
  more->add_events()->set_begin(5);
  v1::TraceTrack* const again = late.add_tracks();
  again->set_name("row thread 1");
  again->add_events()->set_begin(0);
  parts.push_back(late);
  parts.push_back(late);
  const TraceModel model = MakeTraceModel(parts);
  const auto& tracks = model.processes[1].tracks;
  ASSERT_EQ(tracks.size(), 4u);
  EXPECT_EQ(tracks[1].name, "row thread 1");
  EXPECT_EQ(tracks[1].events.size(), 6u);
  EXPECT_EQ(tracks[2].name, "row thread 10");
  for (const auto& track : tracks) {
    for (size_t i = 1; i < track.events.size(); ++i) EXPECT_LE(track.events[i - 1].begin, track.events[i].begin);
  }
}

TEST(TraceJson, IsAValidFileWithoutEvents) {
  TraceSummary summary;
  const std::string json = TraceJson(TraceInput(), &summary);
  EXPECT_EQ(summary.events, 0u);
  EXPECT_NE(json.find("\"traceEvents\":["), std::string::npos);
}

}  // namespace
}  // namespace penstock::cli
