// `penstock trace` of real processes: a viewer can read the file, and its content is true.
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "net/channel.h"
#include "penstock/v1/control.grpc.pb.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/wait_until.h"

namespace penstock::integration {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Microseconds in the file as the original whole nanoseconds.
int64_t NanosOf(const Value& value) { return static_cast<int64_t>(value.number_value() * 1000 + 0.5); }

struct Span {
  std::string name;
  int64_t begin = 0, end = 0;
  Struct args;
};
using Thread = std::pair<int, int>;  // pid, tid

constexpr int kRecords = 25;  // records of a shard
// Milliseconds between the steps of a slow reader, whose trace is small.
constexpr int kSlow = 100;

// The content of the file, parsed by the format's own rules.
struct Read {
  std::map<int, std::string> processes;
  std::map<Thread, std::string> threads;
  std::map<Thread, std::vector<Span>> spans;
  std::map<int64_t, std::vector<std::pair<std::string, int64_t>>> flows;  // phase and time by id
  Struct about;

  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& [thread, of] : spans) {
      for (const Span& span : of) names.insert(span.name);
    }
    return names;
  }
};

class TraceTest : public ::testing::Test {
 protected:
  TraceTest()
      : dataset_(support::MakeImageDataset(
            {.shards = 4, .records_per_shard = kRecords, .width = 256, .height = 256, .crop = 128}, data_.path())) {
    dataset_.job.mutable_batch()->set_size(16);
    dataset_.job.set_name("train");
  }
  void Start(int workers) {
    support::ProcessClusterOptions options;
    options.workers = workers;
    // Without caches each epoch reads records and decodes images.
    options.worker_flags = {"--memory-budget", "64MiB", "--record-cache", "0", "--decoded-cache", "0"};
    cluster_ = std::make_unique<support::ProcessCluster>(options, dataset_.roots);
    const absl::Status submitted = cluster_->control().Submit(dataset_.job);
    ASSERT_TRUE(submitted.ok()) << submitted << cluster_->Logs();
  }
  // Starts a reader that takes a step each `pace` milliseconds, or as fast as it can.
  void StartReader(int pace) {
    reader_ = std::make_unique<support::Process>(
        std::vector<std::string>{PENSTOCK, "read", "train", "--coordinator", cluster_->address(), "--epochs", "1000000",
                                 "--no-digest", "--pace", std::to_string(pace)},
        folder_.File("read.log"));
    ASSERT_TRUE(support::WaitUntil([&] {
      const auto status = cluster_->control().Status();
      return status.ok() && status->jobs_size() == 1 && status->jobs(0).sessions_size() == 1 &&
             status->jobs(0).sessions(0).rows() > 0;
    })) << cluster_->Logs();
  }
  std::unique_ptr<support::Process> BeginTrace(const std::string& job, int seconds) {
    return std::make_unique<support::Process>(
        std::vector<std::string>{PENSTOCK, "trace", job, "--coordinator", cluster_->address(), "--seconds",
                                 std::to_string(seconds), "--out", file()},
        folder_.File("trace.log"));
  }
  // Runs a trace and returns its exit code.
  int Trace(const std::string& job, int seconds) { return BeginTrace(job, seconds)->WaitForExit(); }
  std::string file() const { return folder_.File("trace.json"); }
  std::string Said() { return ReadWholeFile(folder_.File("trace.log")).value_or(""); }

  Read ReadFile() {
    Read read;
    const absl::StatusOr<std::string> json = ReadWholeFile(file());
    EXPECT_TRUE(json.ok()) << json.status();
    if (!json.ok()) return read;
    Struct whole;
    const auto parsed = google::protobuf::util::JsonStringToMessage(*json, &whole);
    EXPECT_TRUE(parsed.ok()) << parsed.ToString();
    read.about = whole.fields().at("otherData").struct_value();
    for (const Value& value : whole.fields().at("traceEvents").list_value().values()) {
      const auto& event = value.struct_value().fields();
      const std::string phase = event.at("ph").string_value();
      const std::string name = event.contains("name") ? event.at("name").string_value() : "";
      const Thread thread{static_cast<int>(event.at("pid").number_value()),
                          static_cast<int>(event.at("tid").number_value())};
      if (phase == "M") {
        const auto& args = event.at("args").struct_value().fields();
        if (name == "process_name") read.processes[thread.first] = args.at("name").string_value();
        if (name == "thread_name") read.threads[thread] = args.at("name").string_value();
        continue;
      }
      const int64_t at = NanosOf(event.at("ts"));
      if (phase == "X") {
        read.spans[thread].push_back({name, at, at + NanosOf(event.at("dur")), event.at("args").struct_value()});
      } else if (phase == "s" || phase == "t" || phase == "f") {
        read.flows[static_cast<int64_t>(event.at("id").number_value())].emplace_back(phase, at);
      }
    }
    return read;
  }

  static void ExpectNested(const Read& read) {
    for (const auto& [thread, spans] : read.spans) {
      std::vector<Span> inside;
      std::vector<Span> ordered = spans;
      std::stable_sort(ordered.begin(), ordered.end(), [](const Span& a, const Span& b) {
        return std::tuple(a.begin, -a.end) < std::tuple(b.begin, -b.end);
      });
      for (const Span& span : ordered) {
        while (!inside.empty() && inside.back().end <= span.begin) inside.pop_back();
        if (!inside.empty()) {
          ASSERT_LE(span.end, inside.back().end)
              << read.threads.at(thread) << ": " << span.name << " across the end of " << inside.back().name;
        }
        inside.push_back(span);
      }
    }
  }

  support::TempFolder data_, folder_;
  support::TestDataset dataset_;
  std::unique_ptr<support::ProcessCluster> cluster_;
  std::unique_ptr<support::Process> reader_;
};

TEST_F(TraceTest, HasEachStageNestedOnOneClockFromTheRowToTheTrainer) {
  Start(2);
  StartReader(0);
  ASSERT_EQ(Trace("train", 1), 0) << Said();
  EXPECT_THAT(Said(), HasSubstr("2 workers and 1 trainer"));
  EXPECT_THAT(Said(), Not(HasSubstr("lacks")));
  const Read read = ReadFile();
  ASSERT_EQ(read.processes.size(), 3u);
  EXPECT_THAT(read.processes.at(1), HasSubstr("trainer, rank 0"));
  std::set<std::string> threads;
  for (const auto& [thread, name] : read.threads) threads.insert(name);
  for (const char* name : {"trainer", "copy 1", "row thread 1", "send to rank 0"}) {
    EXPECT_THAT(threads, Contains(name));
  }
  const std::set<std::string> names = read.Names();
  for (const char* stage : {"row", "read", "parse", "decode", "resize", "random_horizontal_flip", "make message",
                            "send", "receive", "assemble", "seal", "wait", "trainer's work"}) {
    EXPECT_THAT(names, Contains(stage));
  }
  ExpectNested(read);
  // A row, its message, and its receipt, in this order on the common clock.
  size_t rows = 0, steps = 0;
  for (const auto& [id, places] : read.flows) {
    ASSERT_GE(places.size(), 2u);
    EXPECT_EQ(places.front().first, "s");
    EXPECT_EQ(places.back().first, "f");
    for (size_t i = 1; i < places.size(); ++i) ASSERT_LE(places[i - 1].second, places[i].second) << "flow " << id;
    ++(places.size() == 3 ? rows : steps);
  }
  EXPECT_GT(rows, 100u);
  EXPECT_GT(steps, 10u);
  // Rows name their records.
  size_t named = 0;
  for (const auto& [thread, spans] : read.spans) {
    for (const Span& span : spans) {
      if (span.name != "row") continue;
      ASSERT_TRUE(span.args.fields().contains("file"));
      const std::string& path = span.args.fields().at("file").string_value();
      ASSERT_TRUE(std::any_of(dataset_.files.begin(), dataset_.files.end(), [&path](const std::string& shard) {
        return absl::EndsWith(shard, path);
      })) << path;
      EXPECT_LT(span.args.fields().at("record").number_value(), kRecords);
      ++named;
    }
  }
  EXPECT_GT(named, 100u);
  // The clock offsets. All processes are on one host, so the true offset is 0.
  for (const Value& value : read.about.fields().at("processes").list_value().values()) {
    const auto& process = value.struct_value().fields();
    EXPECT_EQ(process.at("clock_exchanges").number_value(), 16);
    EXPECT_LE(std::abs(process.at("clock_offset_us").number_value()),
              2 * process.at("clock_uncertainty_us").number_value() + 0.001);
    EXPECT_EQ(process.at("dropped_events").number_value(), 0);
  }
}

TEST_F(TraceTest, ContainsOrNamesWorkersThatJoinOrLeaveMeanwhile) {
  Start(2);
  StartReader(kSlow);
  const std::unique_ptr<support::Process> trace = BeginTrace("train", 4);
  // Workers come and go before and after the trace begins, 1.5 s after its request.
  const std::string gone = cluster_->worker(0).id;
  cluster_->AddWorker();
  ASSERT_TRUE(cluster_->control().WaitForOwners("train", 3));
  cluster_->worker(0).process->Signal(SIGKILL);
  ASSERT_EQ(trace->WaitForExit(), 0) << Said();
  EXPECT_THAT(Said(), HasSubstr(absl::StrCat("the trace lacks worker ", gone)));
  const Read read = ReadFile();
  std::set<std::string> processes;
  for (const auto& [pid, name] : read.processes) processes.insert(name);
  EXPECT_THAT(processes, Contains("worker " + cluster_->worker(1).id));
  EXPECT_THAT(processes, Contains("worker " + cluster_->worker(2).id));
  ExpectNested(read);
}

TEST_F(TraceTest, AnImpossibleTraceIsReportedAndLeavesNoFile) {
  Start(1);
  EXPECT_EQ(Trace("trian", 1), 1);
  EXPECT_THAT(Said(), HasSubstr("did you mean 'train'?"));
  EXPECT_EQ(Trace("train", 1), 1);
  EXPECT_THAT(Said(), HasSubstr("job train has no reader"));
  EXPECT_EQ(Trace("train", 0), 2);
  EXPECT_EQ(Trace("train", 61), 2);
  StartReader(kSlow);
  cluster_->worker(0).process->Signal(SIGKILL);
  ASSERT_TRUE(cluster_->control().WaitForState(cluster_->worker(0).id, v1::WorkerStatus::DEAD));
  EXPECT_EQ(Trace("train", 1), 1);
  EXPECT_THAT(Said(), HasSubstr("no worker that serves it is live"));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(TraceTest, ASecondTraceOfAJobReportsTheRunningOne) {
  Start(1);
  StartReader(kSlow);
  auto stub = v1::Coordinator::NewStub(net::MakeChannel(cluster_->address()));
  v1::StartTraceRequest request;
  request.set_job("train");
  request.set_seconds(2);
  v1::StartTraceReply first;
  {
    grpc::ClientContext context;
    net::PrepareCall(&context, absl::Seconds(20));
    ASSERT_TRUE(stub->StartTrace(&context, request, &first).ok());
  }
  EXPECT_EQ(Trace("train", 1), 1);
  EXPECT_THAT(Said(), HasSubstr("another penstock trace is running, of job train"));
  EXPECT_FALSE(std::filesystem::exists(file()));
  // The second trace does not disturb the first one. When the first one has ended, another one can run.
  v1::GetTraceRequest get;
  get.set_trace(first.trace());
  v1::GetTraceReply got;
  std::set<std::string> processes;
  ASSERT_TRUE(support::WaitUntil([&] {
    grpc::ClientContext context;
    net::PrepareCall(&context, absl::Seconds(20));
    if (!stub->GetTrace(&context, get, &got).ok()) return false;
    for (const v1::TracePart& part : got.parts()) processes.insert(part.process());
    return got.complete();
  }));
  EXPECT_EQ(processes.size(), 2u);
  EXPECT_EQ(got.missing_size(), 0);
  EXPECT_EQ(Trace("train", 1), 0) << Said();
}

TEST_F(TraceTest, AnInterruptedTraceLeavesNoFileAndTheNextOneIsComplete) {
  Start(1);
  StartReader(kSlow);
  const std::unique_ptr<support::Process> trace = BeginTrace("train", 60);
  // At some point after the start: the worker may or may not have the order and the clock.
  ASSERT_TRUE(trace->running());
  trace->Signal(SIGINT);
  const int exit = trace->WaitForExit();
  EXPECT_NE(exit, 0);
  EXPECT_NE(exit, INT_MIN) << "the command continues";
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_TRUE(reader_->running());
}

}  // namespace
}  // namespace penstock::integration
