// The loader's rows in a trace, on virtual time.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/trace/trace_recorder.h"
#include "pipeline/augment/value/stage_times.h"
#include "pipeline/loader/loader.h"
#include "tests/pipeline/loader/loader_testing.h"

namespace penstock::loader {
namespace {

constexpr int64_t kRowBytes = 16;

// Rows of zeros, whose stage "parse" is measured.
class MeasuredPipeline final : public augment::Pipeline {
 public:
  MeasuredPipeline() {
    batch::ColumnSpec column;
    column.name = "data";
    column.dtype = batch::DType::kUint8;
    column.shape = {kRowBytes};
    schema_.columns.push_back(column);
  }
  const batch::RowSchema& schema() const override { return schema_; }
  uint64_t fingerprint() const override { return 1; }
  const std::vector<std::string>& stages() const override { return stages_; }
  size_t ScratchBytes(std::string_view) const override { return 0; }
  absl::Status MakeRow(std::string_view, const SampleKey&, batch::RowSlot* slot,
                       augment::RowScratch* scratch) const override {
    const StageTimes::Scope parse(&scratch->times(), StageTimes::kParse);
    std::memset(slot->fixed[0], 0, kRowBytes);
    return absl::OkStatus();
  }
  bool IsDeterministic() const override { return false; }
  bool HasDecodedPrefix() const override { return false; }
  absl::StatusOr<std::string> MakeDecoded(std::string_view, augment::RowScratch*) const override {
    return absl::UnimplementedError("no prefix");
  }
  absl::Status MakeRowFromDecoded(std::string_view, std::string_view, const SampleKey&, batch::RowSlot*,
                                  augment::RowScratch*) const override {
    return absl::UnimplementedError("no prefix");
  }

 private:
  const std::vector<std::string> stages_ = {"other", "parse", "decode", "resize"};
  batch::RowSchema schema_;
};

// Returns how many events of each name the trace of three rows has.
std::map<std::string, int> TraceThreeRows(size_t record_bytes) {
  SimScheduler sim(1);
  sim.clock()->Pause(kSecond);  // a trace has no read at time 0
  v1::JobSpec spec;
  spec.set_name("measured");
  spec.mutable_order()->set_shuffle(v1::Order::NONE);
  const auto job =
      LoadJob::Create(spec, std::make_shared<MemoryDataset>(1, 3, record_bytes), std::make_unique<MeasuredPipeline>());
  PS_CHECK(job.ok());
  LoaderOptions options = OptionsIn(&sim);
  options.threads = 1;
  options.memory_budget_bytes = 1 << 20;
  options.trace = std::make_shared<TraceRecorder>();
  auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  options.trace->Begin("measured", 1000, sim.clock()->Now());
  HoldingSink sink;
  auto session = (*loader)->OpenSession(*job, {.largest_step_rows = 3}, &sink);
  PS_CHECK(session.ok());
  (*session)->Request(RowsOf(0, 3, 3));
  sim.RunAll();
  EXPECT_EQ(sink.held(), 3u);
  const TraceRecording recording = options.trace->End(sim.clock()->Now());
  std::map<std::string, int> events;
  for (const TraceRecording::Track& track : recording.tracks) {
    for (const TraceEvent& event : track.events) ++events[recording.names[event.name]];
  }
  return events;
}

TEST(TracedRows, ShowTheirStages) {
  EXPECT_EQ(TraceThreeRows(20), (std::map<std::string, int>{{"row", 3}, {"read", 3}, {"parse", 3}}));
}

// Each row frees the memory of its thread, because a record is larger than the memory that the thread may keep.
TEST(TracedRows, KeepTheirStagesWhenTheirScratchIsFreed) {
  EXPECT_EQ(TraceThreeRows(100'000), (std::map<std::string, int>{{"row", 3}, {"read", 3}, {"parse", 3}}));
}

}  // namespace
}  // namespace penstock::loader
