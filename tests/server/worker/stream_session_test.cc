#include "server/worker/stream_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>

#include "net/frame.h"
#include "pipeline/base/file.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/records/index_store.h"
#include "server/worker/shard_indexes.h"
#include "server/worker/tasks.h"
#include "tests/support/test_dataset.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kLong = std::chrono::seconds(20);

// A coordinator that is not there: all works without it.
class NoCoordinator : public CoordinatorLink {
 public:
  absl::StatusOr<v1::RegisterWorkerReply> Register(const v1::RegisterWorkerRequest&) override { return Away(); }
  absl::StatusOr<v1::HeartbeatReply> Heartbeat(const v1::HeartbeatRequest&) override { return Away(); }
  absl::StatusOr<v1::WatchReply> Watch(const v1::WatchRequest&) override { return Away(); }
  absl::StatusOr<v1::ReportTaskReply> ReportTask(const v1::ReportTaskRequest&) override { return Away(); }
  absl::Status PutIndex(uint64_t, std::string) override { return Away(); }
  absl::StatusOr<std::string> GetIndex(uint64_t) override { return Away(); }
  void Cancel() override {}

 private:
  static absl::Status Away() { return absl::UnavailableError("away"); }
};

// The client's end of a stream. Writes stay in flight until the test (or `auto_done`) says that they are done.
class FakeStream : public MessageStream {
 public:
  void StartRead() override {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(finished_);
    ++reads_;
    changed_.NotifyAll();
  }
  void StartWrite(grpc::ByteBuffer message) override {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(finished_);
    EXPECT_FALSE(writing_) << "two writes at once";
    writing_ = true;
    v1::ServerHeader header;
    SliceCursor payload;
    EXPECT_TRUE(ParseFrame(message, &header, &payload).ok());
    headers_.push_back(header);
    in_flight_ = std::move(message);
    changed_.NotifyAll();
  }
  void Finish(absl::Status status) override {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(finished_) << "finished twice";
    EXPECT_FALSE(writing_) << "finished while a write is in flight";
    finished_ = true;
    status_ = std::move(status);
    changed_.NotifyAll();
  }

  bool WaitUntilRead(int reads) {
    return Wait([this, reads]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return reads_ >= reads || finished_; });
  }
  bool WaitUntilWriting() {
    return Wait([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return writing_; });
  }
  absl::Status WaitUntilFinished() {
    EXPECT_TRUE(Wait([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return finished_; }));
    MutexLock lock(&mutex_);
    return status_;
  }
  // Takes the write in flight off; the caller then tells the session.
  void Sent() {
    grpc::ByteBuffer gone;
    MutexLock lock(&mutex_);
    writing_ = false;
    gone.Swap(&in_flight_);
  }
  std::vector<v1::ServerHeader> headers() {
    MutexLock lock(&mutex_);
    return headers_;
  }
  int reads() {
    MutexLock lock(&mutex_);
    return reads_;
  }
  bool writing() {
    MutexLock lock(&mutex_);
    return writing_;
  }
  bool finished() {
    MutexLock lock(&mutex_);
    return finished_;
  }

 private:
  template <typename Condition>
  bool Wait(Condition condition) {
    const Nanos deadline = Clock::Real()->Now() + std::chrono::nanoseconds(kLong).count();
    MutexLock lock(&mutex_);
    while (!condition()) {
      const Nanos left = deadline - Clock::Real()->Now();
      if (left <= 0) return false;
      changed_.WaitFor(&mutex_, std::chrono::nanoseconds(left));
    }
    return true;
  }

  Mutex mutex_;
  CondVar changed_;
  int reads_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer in_flight_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::ServerHeader> headers_ ABSL_GUARDED_BY(mutex_);
};

class StreamSessionTest : public ::testing::Test {
 protected:
  StreamSessionTest()
      : dataset_(MakeNumberDataset({.shards = 2, .records_per_shard = 40}, folder_.path())),
        indexes_(IndexStore::InStateDir(state_.path()), &coordinator_),
        jobs_(dataset_.roots, &indexes_) {
    LoaderOptions options;
    options.threads = 2;
    options.memory_budget_bytes = 16 << 20;
    loader_ = *Loader::Create(options);
    executor_ = std::make_unique<Executor>(2);
    shared_.worker_id = "me";
    shared_.loader = loader_.get();
    shared_.jobs = &jobs_;
    shared_.executor = executor_.get();
    shared_.job_wait = 50 * kMillisecond;
    MakeJob();
  }
  ~StreamSessionTest() override {
    for (size_t i = 0; i < sessions_.size(); ++i) {
      sessions_[i]->OnClosed();
      while (!streams_[i]->finished()) {
        if (!streams_[i]->writing()) continue;
        streams_[i]->Sent();
        sessions_[i]->OnWriteDone(false);
      }
    }
    sessions_.clear();
    executor_.reset();
  }

  // What a coordinator makes of the data set, through the worker's own tasks.
  void MakeJob() {
    TaskTools tools;
    tools.roots = dataset_.roots;
    tools.indexes = &indexes_;
    tools.link = &coordinator_;
    v1::Task task;
    task.set_id(4);
    *task.mutable_prepare()->mutable_spec() = dataset_.job;
    const v1::ReportTaskRequest prepared = RunTask(task, "me", tools);
    ASSERT_EQ(prepared.code(), 0) << prepared.message();
    EXPECT_EQ(prepared.task_id(), 4u);
    job_.set_name(dataset_.job.name());
    job_.set_uid(99);
    *job_.mutable_spec() = dataset_.job;
    job_.set_state(v1::READY);
    *job_.mutable_columns() = prepared.columns();
    job_.set_pipeline_fingerprint(prepared.pipeline_fingerprint());
    for (const v1::Shard& file : prepared.files()) {
      task.mutable_index()->mutable_shard()->CopyFrom(file);
      const v1::ReportTaskRequest indexed = RunTask(task, "me", tools);
      ASSERT_EQ(indexed.code(), 0) << indexed.message();
      *job_.mutable_snapshot()->add_shards() = indexed.shard();
    }
    *task.mutable_probe()->mutable_job() = job_;
    const v1::ReportTaskRequest probed = RunTask(task, "me", tools);
    ASSERT_EQ(probed.code(), 0) << probed.message();
    const auto load = BuildLoadJob(job_, dataset_.roots, indexes_.ProviderFor(job_.spec()));
    ASSERT_TRUE(load.ok());
    job_.set_order_fingerprint((*load)->order_fingerprint());
    v1::WatchReply reply;
    *reply.add_jobs() = job_;
    jobs_.Update(reply);
  }

  struct Client {
    FakeStream* stream;
    StreamSession* session;
  };
  Client NewClient() {
    streams_.push_back(std::make_unique<FakeStream>());
    sessions_.push_back(std::make_shared<StreamSession>(&shared_, streams_.back().get()));
    return {streams_.back().get(), sessions_.back().get()};
  }
  v1::ClientMessage OpenMessage() {
    v1::ClientMessage message;
    v1::Open* open = message.mutable_open();
    open->set_job(job_.name());
    open->set_job_uid(99);
    open->set_order_fingerprint(job_.order_fingerprint());
    open->set_pipeline_fingerprint(job_.pipeline_fingerprint());
    open->set_world_size(1);
    open->set_step_rows(8);
    return message;
  }
  v1::ClientMessage ViewMessage() {
    v1::ClientMessage message;
    v1::View* view = message.mutable_use_view()->mutable_view();
    view->set_term(1);
    view->set_number(1);
    view->set_key_space(80);
    v1::View::Worker* worker = view->add_workers();
    worker->set_id("me");
    worker->set_address("h:1");
    view->add_ranges()->set_end(80);
    return message;
  }
  static v1::ClientMessage GrantMessage(uint64_t epoch, uint64_t begin, uint64_t end) {
    v1::ClientMessage message;
    v1::Grant* grant = message.mutable_grant();
    grant->set_view_term(1);
    grant->set_view_number(1);
    grant->set_epoch(epoch);
    grant->set_begin(begin);
    grant->set_end(end);
    return message;
  }
  // Sends and waits until the session reads on (or has finished).
  static void Send(const Client& client, v1::ClientMessage message) {
    const int reads = client.stream->reads();
    client.session->OnMessage(std::move(message));
    ASSERT_TRUE(client.stream->WaitUntilRead(reads + 1));
  }
  // Lets writes pass until `rows` rows have come, and returns their numbers.
  static std::vector<uint64_t> Receive(const Client& client, size_t rows) {
    for (;;) {
      std::vector<uint64_t> all;
      for (const v1::ServerHeader& header : client.stream->headers()) {
        all.insert(all.end(), header.rows().positions().begin(), header.rows().positions().end());
      }
      if (all.size() >= rows) return all;
      if (!client.stream->WaitUntilWriting()) return all;
      client.stream->Sent();
      client.session->OnWriteDone(true);
    }
  }

  TempFolder folder_, state_;
  TestDataset dataset_;
  NoCoordinator coordinator_;
  ShardIndexes indexes_;
  ServedJobs jobs_;
  v1::Job job_;
  std::unique_ptr<Loader> loader_;
  SessionShared shared_;
  std::unique_ptr<Executor> executor_;
  std::vector<std::unique_ptr<FakeStream>> streams_;
  std::vector<std::shared_ptr<StreamSession>> sessions_;
};

TEST_F(StreamSessionTest, SendsEveryRowOfItsGrantsOnce) {
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  Send(client, GrantMessage(0, 0, 40));
  Send(client, GrantMessage(0, 40, 80));
  const std::vector<uint64_t> rows = Receive(client, 80);
  EXPECT_EQ(rows.size(), 80u);
  EXPECT_EQ(std::set<uint64_t>(rows.begin(), rows.end()).size(), 80u);
  EXPECT_EQ(client.stream->headers()[0].accepted().worker_id(), "me");
}

TEST_F(StreamSessionTest, WorksOffGrantsThatAreFarLargerThanWhatItAsksForAtOnce) {
  shared_.requested_rows = 4;
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  for (uint64_t epoch = 0; epoch < 20; ++epoch) Send(client, GrantMessage(epoch, 0, 80));
  EXPECT_EQ(Receive(client, 1600).size(), 1600u);
}

TEST_F(StreamSessionTest, RowsThatTheLoaderHurriesCountAsGrantedStill) {
  shared_.requested_rows = 16;
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  for (uint64_t epoch = 0; epoch < 10; ++epoch) {
    v1::ClientMessage waiting;
    waiting.mutable_waiting()->set_epoch(epoch);
    waiting.mutable_waiting()->set_begin(72);
    Send(client, waiting);  // all of the epoch's rows are urgent
    Send(client, GrantMessage(epoch, 0, 80));
    v1::ClientMessage fetch;
    fetch.mutable_fetch()->set_epoch(epoch);
    fetch.mutable_fetch()->add_positions(1);
    Send(client, fetch);
    EXPECT_EQ(Receive(client, 81 * (epoch + 1)).size(), 81 * (epoch + 1));
  }
}

TEST_F(StreamSessionTest, AFetchOvertakesWhatIsGranted) {
  const Client client = NewClient();
  Send(client, OpenMessage());  // whose answer stays in flight, so that rows gather
  Send(client, ViewMessage());
  Send(client, GrantMessage(0, 0, 80));
  v1::ClientMessage fetch;
  fetch.mutable_fetch()->add_positions(79);
  Send(client, fetch);
  ASSERT_TRUE(client.stream->WaitUntilWriting());
  while (loader_->Stats().rows < 81) {
  }
  const std::vector<uint64_t> rows = Receive(client, 81);
  EXPECT_EQ(rows[0], 79u);
}

TEST_F(StreamSessionTest, RevokedRowsAreMadeAgain) {
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  Send(client, GrantMessage(0, 0, 80));
  ASSERT_TRUE(client.stream->WaitUntilWriting());
  while (loader_->Stats().rows < 80) {
  }
  while (client.session->Revoke(1 << 20) == 0) {
  }
  const std::vector<uint64_t> rows = Receive(client, 80);
  EXPECT_EQ(std::set<uint64_t>(rows.begin(), rows.end()).size(), 80u);
}

TEST_F(StreamSessionTest, OpensAJobThatTheCoordinatorTellsOfALittleLater) {
  v1::WatchReply gone;
  gone.add_removed(job_.name());
  jobs_.Update(gone);
  shared_.job_wait = 3600 * kSecond;
  const Client client = NewClient();
  client.session->OnMessage(OpenMessage());
  v1::WatchReply back;
  *back.add_jobs() = job_;
  jobs_.Update(back);
  ASSERT_TRUE(client.stream->WaitUntilRead(1));
  EXPECT_FALSE(client.stream->finished());
}

TEST_F(StreamSessionTest, RefusesWhatItCannotServe) {
  const auto refusal = [&](const std::function<void(v1::Open*)>& change) {
    const Client client = NewClient();
    v1::ClientMessage message = OpenMessage();
    change(message.mutable_open());
    client.session->OnMessage(message);
    return client.stream->WaitUntilFinished();
  };
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_job_uid(5); }).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_job("other"); }).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_order_fingerprint(5); }).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_pipeline_fingerprint(5); }).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_world_size(3); }).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_rank(1); }).code(), absl::StatusCode::kInvalidArgument);
  shared_.max_sessions = 0;
  const absl::Status full = refusal([](v1::Open*) {});
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("max_sessions"));
}

TEST_F(StreamSessionTest, RefusesASessionThatDoesNotFitTheBudgetWithTheNumbers) {
  LoaderOptions small;
  small.threads = 1;
  small.memory_budget_bytes = 4096;
  std::unique_ptr<Loader> loader = *Loader::Create(small);
  shared_.loader = loader.get();
  const Client client = NewClient();
  v1::ClientMessage message = OpenMessage();
  message.mutable_open()->set_step_rows(80);
  client.session->OnMessage(message);
  const absl::Status status = client.stream->WaitUntilFinished();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), ::testing::ContainsRegex("[0-9]+ bytes"));
}

TEST_F(StreamSessionTest, HostileMessagesEndTheStream) {
  const auto ends_with = [&](const std::vector<v1::ClientMessage>& messages) {
    const Client client = NewClient();
    for (size_t i = 0; i + 1 < messages.size(); ++i) Send(client, messages[i]);
    client.session->OnMessage(messages.back());
    while (!client.stream->finished()) {  // what is being written goes first
      if (!client.stream->writing()) continue;
      client.stream->Sent();
      client.session->OnWriteDone(true);
    }
    return client.stream->WaitUntilFinished().code();
  };
  EXPECT_EQ(ends_with({GrantMessage(0, 0, 8)}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ends_with({v1::ClientMessage()}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ends_with({OpenMessage(), OpenMessage()}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ends_with({OpenMessage(), GrantMessage(0, 0, 8)}), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ends_with({OpenMessage(), ViewMessage(), GrantMessage(0, 0, 1000)}), absl::StatusCode::kInvalidArgument);
}

TEST_F(StreamSessionTest, SaysThatTheWorkerDrainsAlsoToThoseWhoComeLater) {
  const Client client = NewClient();
  client.session->SendDraining();
  Send(client, OpenMessage());
  ASSERT_TRUE(client.stream->WaitUntilWriting());
  client.stream->Sent();
  client.session->OnWriteDone(true);
  const std::vector<v1::ServerHeader> headers = client.stream->headers();
  ASSERT_EQ(headers.size(), 2u);
  EXPECT_TRUE(headers[0].has_accepted());
  EXPECT_TRUE(headers[1].has_draining());
  client.stream->Sent();
  client.session->OnWriteDone(true);
}

TEST_F(StreamSessionTest, AClosedStreamGivesAllMemoryBack) {
  const uint64_t before = loader_->Stats().memory_bytes;  // the threads'
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  Send(client, GrantMessage(0, 0, 80));
  ASSERT_TRUE(client.stream->WaitUntilWriting());
  client.session->OnClosed();
  client.stream->Sent();
  client.session->OnWriteDone(false);
  EXPECT_TRUE(client.stream->WaitUntilFinished().ok());
  executor_.reset();  // runs what is left
  EXPECT_EQ(shared_.open_sessions.load(), 0u);
  EXPECT_EQ(loader_->Stats().memory_bytes, before);
  sessions_.clear();
  streams_.clear();
}

TEST_F(StreamSessionTest, TasksNameWhatIsWrong) {
  TaskTools tools;
  tools.roots = dataset_.roots;
  tools.indexes = &indexes_;
  tools.link = &coordinator_;
  v1::Task task;
  v1::JobSpec* spec = task.mutable_prepare()->mutable_spec();
  *spec = dataset_.job;
  spec->mutable_dataset(0)->set_files(0, "nothing-*");
  spec->mutable_batch()->set_size(0);
  v1::ReportTaskRequest report = RunTask(task, "me", tools);
  EXPECT_NE(report.code(), 0);
  EXPECT_THAT(report.message(), HasSubstr("nothing-*"));  // both mistakes at once
  EXPECT_THAT(report.message(), HasSubstr("batch.size"));
  EXPECT_FALSE(report.worker_at_fault());

  *task.mutable_probe()->mutable_job() = job_;
  v1::Feature* feature = task.mutable_probe()->mutable_job()->mutable_spec()->add_features();
  feature->set_key("not/there");
  feature->set_type(v1::Feature::INT64);
  report = RunTask(task, "me", tools);
  EXPECT_NE(report.code(), 0);
  EXPECT_THAT(report.message(), HasSubstr("not/there"));
  EXPECT_THAT(report.message(), HasSubstr(dataset_.files[0]));

  task.mutable_index()->mutable_shard()->set_root("data");
  task.mutable_index()->mutable_shard()->set_path("gone");
  report = RunTask(task, "me", tools);
  EXPECT_TRUE(report.worker_at_fault());  // another worker may have it
  EXPECT_THAT(report.message(), HasSubstr("gone"));
}

// Policies are for records: where a shard's records are not known, there is none to mask.
TEST_F(StreamSessionTest, AShardThatCannotBeWalkedIsRefusedWithTheWayOut) {
  TaskTools tools;
  tools.roots = dataset_.roots;
  tools.indexes = &indexes_;
  tools.link = &coordinator_;
  v1::Task task;
  *task.mutable_index()->mutable_shard() = job_.snapshot().shards(0);
  const auto content = ReadWholeFile(dataset_.files[0]);
  ASSERT_TRUE(content.ok());
  ASSERT_TRUE(WriteFileAtomically(dataset_.files[0], content->substr(0, content->size() - 3)).ok());
  const v1::ReportTaskRequest report = RunTask(task, "me", tools);
  EXPECT_EQ(report.code(), static_cast<int>(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(report.worker_at_fault());
  EXPECT_THAT(report.message(), HasSubstr(dataset_.files[0]));
  EXPECT_THAT(report.message(), HasSubstr("at offset"));
  EXPECT_THAT(report.message(), HasSubstr("whatever errors.policy says"));
  EXPECT_THAT(report.message(), HasSubstr("penstock verify"));
}

TEST_F(StreamSessionTest, AFileThatIsNotTheSnapshotsIsNamed) {
  const SnapshotShard shard = SnapshotOf(job_.snapshot())->shards()[0];
  WriteShard(dataset_.files[0], {"another"});
  const auto index = indexes_.Get(shard, dataset_.files[0], IndexOptions());
  EXPECT_EQ(index.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(index.status().message()), HasSubstr(dataset_.files[0]));
}

}  // namespace
}  // namespace penstock
