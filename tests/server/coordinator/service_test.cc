// The coordinator over real gRPC, on a free port, with workers that use the RPCs but read no files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "net/channel.h"
#include "net/grpc_status.h"
#include "net/job_mirror.h"
#include "penstock/v1/control.grpc.pb.h"
#include "pipeline/sources/shard_index.h"
#include "server/coordinator/service/coordinator.h"
#include "tests/server/coordinator/job_specs.h"
#include "transport/ownership.h"
#include "transport/peer.h"

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kShards = 6;
constexpr uint64_t kRecords = 20;

class Client {
 public:
  explicit Client(const Coordinator& coordinator)
      : stub_(v1::Coordinator::NewStub(net::MakeChannel(coordinator.address()))) {}

  template <typename Method, typename Req, typename Rep>
  absl::Status Call(Method method, const Req& request, Rep* reply) {
    grpc::ClientContext context;
    net::PrepareCall(&context, absl::Seconds(20));
    return net::FromGrpc((stub_.get()->*method)(&context, request, reply));
  }

  v1::Coordinator::Stub* stub() { return stub_.get(); }

 private:
  std::unique_ptr<v1::Coordinator::Stub> stub_;
};

using Stub = v1::Coordinator::Stub;

// Registers, then holds a watch open and sends a heartbeat at each wake-up, as a real worker does.
class FakeWorker {
 public:
  FakeWorker(const Coordinator& coordinator, std::string id)
      : id_(std::move(id)), client_(coordinator), thread_([this] { Run(); }) {}
  ~FakeWorker() {
    stop_ = true;
    thread_.join();
  }

 private:
  void Run() {
    v1::RegisterWorkerReply registered;
    EXPECT_TRUE(client_.Call(&Stub::RegisterWorker, WorkerCalled(id_), &registered).ok());
    net::JobMirror watched;
    while (!stop_) {
      v1::HeartbeatReply beat;
      if (!client_.Call(&Stub::Heartbeat, BeatOf(id_), &beat).ok()) return;
      std::vector<v1::Task> tasks(beat.tasks().begin(), beat.tasks().end());
      while (!tasks.empty()) {
        const v1::Task task = tasks.back();
        tasks.pop_back();
        v1::ReportTaskReply next;
        if (!client_.Call(&Stub::ReportTask, DoneBy(id_, task, kShards, kRecords), &next).ok()) return;
        tasks.assign(next.tasks().begin(), next.tasks().end());
      }
      v1::WatchReply changes;
      if (!client_.Call(&Stub::Watch, watched.NextRequest(200), &changes).ok()) return;
      EXPECT_TRUE(watched.Apply(changes).ok());
    }
  }

  const std::string id_;
  Client client_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class CoordinatorServiceTest : public ::testing::Test {
 protected:
  CoordinatorServiceTest() {
    static std::atomic<int> count{0};
    dir_ = std::filesystem::path(::testing::TempDir()) /
           ("penstock-coordinator-" + std::to_string(getpid()) + "-" + std::to_string(count++));
    options_.listen = "127.0.0.1:0";
    options_.state_dir = dir_.string();
  }
  ~CoordinatorServiceTest() override {
    coordinator_.reset();
    std::filesystem::remove_all(dir_);
  }

  void Start() {
    auto started = Coordinator::Start(options_);
    ASSERT_TRUE(started.ok()) << started.status();
    coordinator_ = *std::move(started);
    client_ = std::make_unique<Client>(*coordinator_);
  }

  // Watches a job until it is prepared, as `penstock submit` does.
  v1::Job WaitUntilPrepared(const std::string& job) {
    net::JobMirror watched(job);
    while (true) {
      v1::WatchReply reply;
      absl::Status status = client_->Call(&Stub::Watch, watched.NextRequest(5000), &reply);
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) return {};
      EXPECT_TRUE(watched.Apply(reply).ok());
      const v1::Job changed = net::ToJob(*watched.Find(job));
      if (changed.state() != v1::PREPARING && (changed.state() != v1::READY || changed.has_view())) return changed;
    }
  }

  std::filesystem::path dir_;
  CoordinatorOptions options_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<Client> client_;
};

TEST_F(CoordinatorServiceTest, ASubmittedJobBecomesReadyAndCanBeOpened) {
  Start();
  FakeWorker a(*coordinator_, "a"), b(*coordinator_, "b");
  v1::SubmitReply submitted;
  ASSERT_TRUE(client_->Call(&Stub::Submit, SubmitOf(SimpleSpec("train")), &submitted).ok());
  const v1::Job job = WaitUntilPrepared("train");
  ASSERT_EQ(job.state(), v1::READY) << job.error();
  EXPECT_EQ(job.snapshot().shards_size(), kShards);
  EXPECT_EQ(job.pipeline_fingerprint(), 77u);
  EXPECT_NE(job.order_fingerprint(), 0u);
  EXPECT_EQ(job.view().key_space(), kShards * kRecords);
  EXPECT_GE(job.view().ranges_size(), 1);

  v1::OpenSessionReply session;
  ASSERT_TRUE(client_->Call(&Stub::OpenSession, SessionOn("train"), &session).ok());
  EXPECT_EQ(session.job().record().uid(), job.uid());
  v1::ReportSessionRequest progress;
  progress.set_session_id(session.session_id());
  progress.set_position(40);
  v1::ReportSessionReply reported;
  ASSERT_TRUE(client_->Call(&Stub::ReportSession, progress, &reported).ok());
  EXPECT_FALSE(reported.unknown_session());
  v1::StatusReply status;
  ASSERT_TRUE(client_->Call(&Stub::GetStatus, v1::StatusRequest(), &status).ok());
  ASSERT_EQ(status.jobs_size(), 1);
  ASSERT_EQ(status.jobs(0).sessions_size(), 1);
  EXPECT_EQ(status.jobs(0).sessions(0).position(), 40u);
  // A reader of the status cannot learn the whole id. With it, the reader could report for the session.
  EXPECT_EQ(session.session_id().size(), 32u);
  EXPECT_EQ(status.jobs(0).sessions(0).id(), session.session_id().substr(0, 8));
  EXPECT_EQ(status.workers_size(), 2);
  v1::CloseSessionRequest close;
  close.set_session_id(session.session_id());
  v1::CloseSessionReply closed;
  ASSERT_TRUE(client_->Call(&Stub::CloseSession, close, &closed).ok());

  v1::ListShardsRequest list;
  list.set_job("train");
  v1::ListShardsReply shards;
  ASSERT_TRUE(client_->Call(&Stub::ListShards, list, &shards).ok());
  ASSERT_EQ(shards.shards_size(), kShards);
  EXPECT_GE(shards.shards(0).owners_size(), 1);
}

TEST_F(CoordinatorServiceTest, TasksReachWorkersWithoutWaitingForAHeartbeat) {
  options_.heartbeat_ms = 60'000;
  options_.dead_after_ms = 600'000;
  Start();
  FakeWorker a(*coordinator_, "a");
  v1::SubmitReply submitted;
  ASSERT_TRUE(client_->Call(&Stub::Submit, SubmitOf(SimpleSpec("train")), &submitted).ok());
  EXPECT_EQ(WaitUntilPrepared("train").state(), v1::READY);
}

TEST_F(CoordinatorServiceTest, ARestartedCoordinatorKeepsJobsViewsAndWorkers) {
  Start();
  v1::Job before;
  {
    FakeWorker a(*coordinator_, "a"), b(*coordinator_, "b");
    v1::SubmitReply submitted;
    ASSERT_TRUE(client_->Call(&Stub::Submit, SubmitOf(SimpleSpec("train")), &submitted).ok());
    before = WaitUntilPrepared("train");
  }
  coordinator_.reset();
  Start();
  FakeWorker a(*coordinator_, "a"), b(*coordinator_, "b");
  const v1::Job after = WaitUntilPrepared("train");
  EXPECT_EQ(after.state(), v1::READY);
  EXPECT_EQ(after.uid(), before.uid());
  EXPECT_EQ(after.order_fingerprint(), before.order_fingerprint());
  EXPECT_EQ(after.snapshot().SerializeAsString(), before.snapshot().SerializeAsString());
  EXPECT_EQ(after.view().key_space(), before.view().key_space());
  v1::SubmitReply again;
  ASSERT_TRUE(client_->Call(&Stub::Submit, SubmitOf(SimpleSpec("train")), &again).ok());
  EXPECT_TRUE(again.existed());
}

TEST_F(CoordinatorServiceTest, ADifferentJobOfTheSameNameIsRejected) {
  Start();
  v1::SubmitReply reply;
  ASSERT_TRUE(client_->Call(&Stub::Submit, SubmitOf(SimpleSpec("train", 10)), &reply).ok());
  EXPECT_FALSE(reply.existed());
  ASSERT_TRUE(client_->Call(&Stub::Submit, SubmitOf(SimpleSpec("train", 10)), &reply).ok());
  EXPECT_TRUE(reply.existed());
  const absl::Status other = client_->Call(&Stub::Submit, SubmitOf(SimpleSpec("train", 20)), &reply);
  EXPECT_EQ(other.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(other.message()), HasSubstr("--replace"));
  EXPECT_THAT(std::string(other.message()), HasSubstr("batch.size"));
}

TEST_F(CoordinatorServiceTest, AnUnknownJobIsAnErrorThatListsTheJobs) {
  Start();
  v1::SubmitReply submitted;
  ASSERT_TRUE(client_->Call(&Stub::Submit, SubmitOf(SimpleSpec("imagenet")), &submitted).ok());
  v1::OpenSessionReply session;
  const absl::Status status = client_->Call(&Stub::OpenSession, SessionOn("imagnet"), &session);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("there are: imagenet"));
}

TEST_F(CoordinatorServiceTest, AWatchEndsEmptyWithoutAChange) {
  Start();
  v1::WatchRequest watch;
  v1::WatchReply first, second;
  ASSERT_TRUE(client_->Call(&Stub::Watch, watch, &first).ok());
  watch.set_known_revision(first.revision());
  watch.set_wait_ms(1);
  ASSERT_TRUE(client_->Call(&Stub::Watch, watch, &second).ok());
  EXPECT_EQ(second.revision(), first.revision());
  EXPECT_EQ(second.jobs_size(), 0);
}

TEST_F(CoordinatorServiceTest, ShutdownDoesNotWaitForWatchers) {
  Start();
  v1::WatchReply first;
  ASSERT_TRUE(client_->Call(&Stub::Watch, v1::WatchRequest(), &first).ok());
  v1::WatchRequest watch;
  watch.set_known_revision(first.revision());
  watch.set_wait_ms(30'000);
  std::thread watcher([&] {
    v1::WatchReply reply;
    EXPECT_FALSE(client_->Call(&Stub::Watch, watch, &reply).ok());
  });
  coordinator_->Shutdown();
  coordinator_->Shutdown();
  watcher.join();
}

TEST_F(CoordinatorServiceTest, ACancelledWatchIsForgotten) {
  Start();
  v1::WatchReply first;
  ASSERT_TRUE(client_->Call(&Stub::Watch, v1::WatchRequest(), &first).ok());
  v1::WatchRequest watch;
  watch.set_known_revision(first.revision());
  watch.set_wait_ms(30'000);
  grpc::ClientContext context;
  net::PrepareCall(&context, absl::Milliseconds(50));
  v1::WatchReply reply;
  EXPECT_EQ(client_->stub()->Watch(&context, watch, &reply).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ASSERT_TRUE(client_->Call(&Stub::Watch, v1::WatchRequest(), &first).ok());
}

TEST_F(CoordinatorServiceTest, IndexBlobsAreKeptByContent) {
  Start();
  sources::ShardIndex index;
  index.content_hash = 42;
  index.AppendRecord(100);
  index.AppendRecord(200);
  index.file_size = index.stream_size();
  v1::PutIndexRequest put;
  put.set_content_hash(42);
  put.set_blob(index.Serialize());
  v1::PutIndexReply stored;
  ASSERT_TRUE(client_->Call(&Stub::PutIndex, put, &stored).ok());
  v1::GetIndexRequest get;
  get.set_content_hash(42);
  v1::GetIndexReply got;
  ASSERT_TRUE(client_->Call(&Stub::GetIndex, get, &got).ok());
  EXPECT_EQ(got.blob(), put.blob());
  get.set_content_hash(43);
  EXPECT_EQ(client_->Call(&Stub::GetIndex, get, &got).code(), absl::StatusCode::kNotFound);
}

TEST_F(CoordinatorServiceTest, OneWorkerIndexesAFileAndTheOthersAskAgain) {
  Start();
  v1::GetIndexRequest get;
  get.set_content_hash(42);
  get.set_worker_id("a");
  get.mutable_file()->set_size(332);
  get.mutable_file()->set_mtime_ns(7);
  v1::GetIndexReply got;
  ASSERT_TRUE(client_->Call(&Stub::GetIndex, get, &got).ok());
  EXPECT_TRUE(got.build());
  get.set_worker_id("b");
  got.Clear();
  ASSERT_TRUE(client_->Call(&Stub::GetIndex, get, &got).ok());
  EXPECT_FALSE(got.build());
  EXPECT_GT(got.ask_again_ms(), 0u);
  EXPECT_EQ(got.builder(), "a");

  sources::ShardIndex index;
  index.content_hash = 42;
  index.AppendRecord(100);
  index.AppendRecord(200);
  index.file_size = index.stream_size();
  index.mtime_ns = 7;
  for (const int64_t time : {7, 8}) {  // times of two copies
    index.mtime_ns = time;
    v1::PutIndexRequest put;
    put.set_content_hash(42);
    put.set_blob(index.Serialize());
    v1::PutIndexReply stored;
    ASSERT_TRUE(client_->Call(&Stub::PutIndex, put, &stored).ok());
    get.mutable_file()->set_size(index.file_size);
    get.mutable_file()->set_mtime_ns(time);
    got.Clear();
    ASSERT_TRUE(client_->Call(&Stub::GetIndex, get, &got).ok());
    EXPECT_EQ(got.blob(), put.blob());
  }
  get.mutable_file()->set_mtime_ns(9);
  get.set_worker_id("a");
  ASSERT_TRUE(client_->Call(&Stub::GetIndex, get, &got).ok());
  EXPECT_TRUE(got.build());
  get.set_give_up(true);
  ASSERT_TRUE(client_->Call(&Stub::GetIndex, get, &got).ok());
  get.set_give_up(false);
  get.set_worker_id("b");
  ASSERT_TRUE(client_->Call(&Stub::GetIndex, get, &got).ok());
  EXPECT_TRUE(got.build()) << "the first worker released its turn";
}

TEST_F(CoordinatorServiceTest, ARejectedIndexEndsNoTurn) {
  Start();
  v1::GetIndexRequest get;
  get.set_content_hash(42);
  get.set_worker_id("a");
  get.mutable_file();  // the file has neither size nor time
  v1::GetIndexReply got;
  ASSERT_TRUE(client_->Call(&Stub::GetIndex, get, &got).ok());
  EXPECT_TRUE(got.build());
  v1::PutIndexRequest put;
  put.set_content_hash(42);
  put.set_blob("no index");
  v1::PutIndexReply stored;
  EXPECT_EQ(client_->Call(&Stub::PutIndex, put, &stored).code(), absl::StatusCode::kInvalidArgument);
  get.set_worker_id("b");
  got.Clear();
  ASSERT_TRUE(client_->Call(&Stub::GetIndex, get, &got).ok());
  EXPECT_EQ(got.builder(), "a");
}

TEST_F(CoordinatorServiceTest, TheOwnershipRuleReceivesTheCallersOfSessionsAndTraces) {
  Mutex mutex;
  std::vector<transport::Act> acts;  // guarded by mutex
  options_.may_act = [&](const transport::Claim& claim, const transport::Ownership*) {
    MutexLock lock(&mutex);
    acts.push_back(claim.act);
    EXPECT_EQ(claim.caller.kind, transport::Peer::Kind::kNetwork);
    EXPECT_THAT(claim.caller.address, StartsWith("127.0.0.1:"));
    return absl::PermissionDeniedError("no act is allowed");
  };
  Start();
  std::vector<absl::Status> ends(5);
  v1::ReportSessionReply reported;
  ends[0] = client_->Call(&Stub::ReportSession, v1::ReportSessionRequest(), &reported);
  v1::JudgeRecordsReply judged;
  ends[1] = client_->Call(&Stub::JudgeRecords, v1::JudgeRecordsRequest(), &judged);
  v1::CloseSessionReply closed;
  ends[2] = client_->Call(&Stub::CloseSession, v1::CloseSessionRequest(), &closed);
  v1::PutTraceReply put;
  ends[3] = client_->Call(&Stub::PutTrace, v1::PutTraceRequest(), &put);
  v1::GetTraceReply got;
  ends[4] = client_->Call(&Stub::GetTrace, v1::GetTraceRequest(), &got);
  for (const absl::Status& end : ends) {
    EXPECT_EQ(end.code(), absl::StatusCode::kPermissionDenied) << end;
    EXPECT_THAT(std::string(end.message()), HasSubstr("no act is allowed"));
  }
  MutexLock lock(&mutex);
  EXPECT_THAT(acts, ElementsAre(transport::Act::kReport, transport::Act::kJudge, transport::Act::kClose,
                                transport::Act::kAddPart, transport::Act::kFetch));
}

TEST_F(CoordinatorServiceTest, ASecondCoordinatorOnAStateDirIsRejected) {
  Start();
  const auto second = Coordinator::Start(options_);
  ASSERT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(dir_.string()));
}

TEST_F(CoordinatorServiceTest, ABusyPortIsAnErrorThatReleasesTheStateDir) {
  Start();
  CoordinatorOptions other = options_;
  other.listen = coordinator_->address();
  other.state_dir = (dir_ / "other").string();
  EXPECT_FALSE(Coordinator::Start(other).ok());
  other.listen = "127.0.0.1:0";
  EXPECT_TRUE(Coordinator::Start(other).ok());
}

TEST_F(CoordinatorServiceTest, PlaintextOnTheNetworkIsRejectedUnlessInsecureIsSet) {
  options_.listen = "0.0.0.0:0";
  const auto refused = Coordinator::Start(options_);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--insecure"));
  options_.insecure = true;
  EXPECT_TRUE(Coordinator::Start(options_).ok());
}

TEST_F(CoordinatorServiceTest, ADamagedStoreIsNamed) {
  std::filesystem::create_directories(dir_);
  std::ofstream(dir_ / "coordinator.db") << std::string(5000, 'x');
  const auto started = Coordinator::Start(options_);
  EXPECT_EQ(started.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(started.status().message()), HasSubstr((dir_ / "coordinator.db").string()));
  EXPECT_THAT(std::string(started.status().message()), HasSubstr("move it away"));
}

TEST_F(CoordinatorServiceTest, ContradictoryTimesAreRejected) {
  options_.dead_after_ms = options_.heartbeat_ms;
  EXPECT_EQ(Coordinator::Start(options_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock::coordinator
