// Traces and turns to build indexes, driven through the control loop on virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/coordinator/control_loop_harness.h"
#include "tests/support/log_lines.h"

namespace penstock::coordinator {
namespace {

using support::FieldOf;
using ::testing::Contains;

class ControlLoopTracesTest : public ControlLoopTest {
 protected:
  // Starts a loop whose ids come from `seed`, with a READY job, its worker and its reader.
  void StartWithAReader(uint64_t seed) {
    random_ = std::make_unique<SeededRandom>(seed);
    ControlLoop::Options options;
    options.random = random_.get();
    Start(options);
    ASSERT_TRUE(Apply(WorkerCalled("a")).ok());
    ASSERT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
    for (std::vector<v1::Task> tasks = TasksIn(Beat()); !tasks.empty();) {
      ASSERT_TRUE(Apply(DoneBy("a", tasks[0], 2, 100)).ok());
      tasks = TasksIn(std::get<v1::ReportTaskReply>(reply_));
    }
    ASSERT_TRUE(Apply(SessionOn("train")).ok());
    session_ = std::get<v1::OpenSessionReply>(reply_).session_id();
  }

  v1::HeartbeatReply Beat() {
    Begin(BeatOf("a"));
    sim_.RunFor(ControlLoop::Options().tick);
    return std::get<v1::HeartbeatReply>(reply_);
  }
  v1::ReportSessionReply Report() {
    v1::ReportSessionRequest request;
    request.set_session_id(session_);
    Begin(request);
    sim_.RunFor(ControlLoop::Options().tick);
    return std::get<v1::ReportSessionReply>(reply_);
  }
  v1::StartTraceReply StartTrace() {
    v1::StartTraceRequest request;
    request.set_job("train");
    request.set_seconds(5);
    EXPECT_TRUE(Apply(request).ok());
    return std::get<v1::StartTraceReply>(reply_);
  }
  absl::Status Put(uint64_t trace, const std::string& process) {
    v1::PutTraceRequest request;
    request.set_trace(trace);
    request.set_process(process);
    request.set_last(true);
    request.mutable_part()->set_process(process);
    return Apply(request);
  }
  absl::StatusOr<v1::GetTraceReply> Get(uint64_t trace) {
    v1::GetTraceRequest request;
    request.set_trace(trace);
    const absl::Status got = Apply(request);
    if (!got.ok()) return got;
    return std::get<v1::GetTraceReply>(reply_);
  }
  IndexTurns::Answer AskTurn(const std::string& worker) {
    EXPECT_TRUE(Apply(AskIndexTurn{7, worker, 100}).ok());
    return std::get<IndexTurns::Answer>(reply_);
  }

  std::unique_ptr<SeededRandom> random_;
  std::string session_;
};

TEST_F(ControlLoopTracesTest, ATraceReachesItsProcessesAndEndsOnVirtualTime) {
  StartWithAReader(1);
  EXPECT_EQ(Beat().traces_size(), 0);
  const v1::StartTraceReply started = StartTrace();
  EXPECT_EQ(started.workers(), 1u);
  EXPECT_EQ(started.trainers(), 1u);
  const v1::HeartbeatReply beat = Beat();
  ASSERT_EQ(beat.traces_size(), 1);
  EXPECT_EQ(beat.traces(0).trace(), started.trace());
  ASSERT_EQ(Report().traces_size(), 1);

  sim_.RunFor(20 * kSecond);
  EXPECT_EQ(Beat().traces_size(), 0) << "the time of the trace is over";
  ASSERT_TRUE(Put(started.trace(), "a").ok());
  const auto times = std::get<v1::PutTraceReply>(reply_);
  EXPECT_EQ(times.received(), sim_.clock()->Now());
  EXPECT_EQ(times.sent(), sim_.clock()->Now());
  ASSERT_TRUE(Put(started.trace(), session_.substr(0, 8)).ok());
  const absl::StatusOr<v1::GetTraceReply> got = Get(started.trace());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(got->complete());
  EXPECT_EQ(got->parts_size(), 2);
  EXPECT_EQ(got->missing_size(), 0);
  EXPECT_EQ(Get(started.trace()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ControlLoopTracesTest, ATraceIsLoggedWhenItBeginsAndWhenItIsFetched) {
  StartWithAReader(1);
  support::CapturedLog log;
  const uint64_t trace = StartTrace().trace();
  const std::string label = absl::StrCat(absl::Hex(trace, absl::kZeroPad16)).substr(0, 4);
  const std::vector<nlohmann::json> begun = log.TakeLines();
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(FieldOf(begun[0], "message"),
            absl::StrCat("job train: trace ", label, " of 5 s begins, of 1 workers and 1 trainers"));
  EXPECT_EQ(FieldOf(begun[0], "job"), "train");
  EXPECT_EQ(FieldOf(begun[0], "trace"), label);
  sim_.RunFor(20 * kSecond);
  ASSERT_TRUE(Put(trace, session_.substr(0, 8)).ok());
  log.TakeText();
  ASSERT_TRUE(Get(trace).ok());
  const std::vector<nlohmann::json> fetched = log.TakeLines();
  ASSERT_EQ(fetched.size(), 1u);
  EXPECT_EQ(FieldOf(fetched[0], "message"), absl::StrCat("trace ", label, " is fetched; 1 processes sent no part"));
  EXPECT_EQ(FieldOf(fetched[0], "trace"), label);
}

TEST_F(ControlLoopTracesTest, IdsComeFromTheRandomSource) {
  StartWithAReader(1);
  const uint64_t trace = StartTrace().trace();
  // Commits have ids of this source too.
  SeededRandom same(1);
  std::vector<uint64_t> numbers = {same.Next()};
  std::vector<std::string> ids;
  for (int i = 0; i < 32; ++i) {
    numbers.push_back(same.Next());
    ids.push_back(absl::StrCat(absl::Hex(numbers[numbers.size() - 2], absl::kZeroPad16),
                               absl::Hex(numbers.back(), absl::kZeroPad16)));
  }
  EXPECT_THAT(ids, Contains(session_));
  EXPECT_THAT(numbers, Contains(trace));
}

TEST_F(ControlLoopTracesTest, ADeadBuilderOfAnIndexIsReplacedOnVirtualTime) {
  Start();
  EXPECT_TRUE(AskTurn("a").build);
  EXPECT_EQ(AskTurn("b").builder, "a");
  sim_.RunFor(11 * kSecond);
  EXPECT_TRUE(AskTurn("b").build);
  EXPECT_TRUE(Apply(EndIndexTurn{7, "a"}).ok());
  EXPECT_EQ(AskTurn("c").builder, "b") << "the replaced builder reported that it stopped";
  EXPECT_TRUE(Apply(EndIndexTurn{7}).ok());
  EXPECT_TRUE(AskTurn("a").build) << "the index was stored, and then removed";
}

}  // namespace
}  // namespace penstock::coordinator
