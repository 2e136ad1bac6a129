// Events of jobs and workers, and their descriptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/coordinator/state/event_log.h"
#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

v1::DescribeRequest Called(const std::string& name) {
  v1::DescribeRequest request;
  request.set_name(name);
  return request;
}

v1::DescribeReply Described(const StateHarness& h, const std::string& name) {
  const absl::StatusOr<v1::DescribeReply> reply = h.state->Describe(Called(name), h.caller, h.now);
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.ok() ? *reply : v1::DescribeReply();
}

// The events as "KIND: message", with ", by NAME".
std::vector<std::string> EventsOf(const StateHarness& h, const std::string& name) {
  std::vector<std::string> texts;
  const v1::DescribeReply reply = Described(h, name);
  for (const v1::HistoryEvent& event : reply.events()) {
    texts.push_back(absl::StrCat(v1::HistoryEvent::Kind_Name(event.kind()), ": ", event.message(),
                                 event.by().empty() ? "" : absl::StrCat(", by ", event.by())));
  }
  return texts;
}

StateOptions AtNoon() {
  StateOptions options;
  options.unix_ms = [] { return int64_t{1'800'000'000'000}; };
  return options;
}

std::string Open(StateHarness* h, const std::string& job) {
  return h->Do<v1::OpenSessionReply>(SessionOn(job)).session_id();
}

// `penstock submit` rejects such globs. Another client may submit them: the job fails, and stays in the list.
TEST(CoordinatorHistory, ADescriptionHasNoSecretsOfUrls) {
  StateHarness h(AtNoon());
  v1::JobSpec spec = SimpleSpec("train");
  spec.mutable_dataset(0)->clear_files();
  for (const char* glob : {"https://me:hunter2@host/train-*", "https://host/train-0?sig=hunter2", "train-0000?"}) {
    spec.mutable_dataset(0)->add_files(glob);
  }
  h.Do<v1::SubmitReply>(SubmitOf(spec));
  EXPECT_THAT(Described(h, "train").spec().dataset(0).files(),
              ElementsAre("https://...@host/train-*", "https://host/train-0", "train-0000?"));
}

TEST(CoordinatorHistory, TheLifeOfAJobIsItsEventsWithTheCallersName) {
  StateHarness h(AtNoon());
  h.caller.name = "alice";
  h.Register("a");
  h.Prepare("train", {"a"});
  const std::string session = Open(&h, "train");
  h.caller.name = "bob";
  v1::CancelRequest cancel;
  cancel.set_job("train");
  h.Do<v1::CancelReply>(cancel);
  EXPECT_THAT(EventsOf(h, "train"),
              ElementsAre("SUBMITTED: , by alice", "READY_TO_READ: 200 records in 8 shards, 20000 bytes",
                          "VIEW: view 1 on 1 worker",
                          AllOf(HasSubstr("SESSION_OPENED: reader "), HasSubstr("rank 0 of 1"),
                                HasSubstr("begins at epoch 0, position 0, by alice")),
                          "JOB_CANCELLED: , by bob",
                          AllOf(HasSubstr("SESSION_CLOSED"), HasSubstr("the job was cancelled, by bob"))));
  const v1::DescribeReply reply = Described(h, "train");
  EXPECT_EQ(reply.events(0).unix_ms(), 1'800'000'000'000);
  EXPECT_EQ(reply.dropped_events(), 0u);
  EXPECT_EQ(reply.job().state(), v1::CANCELLED);
  EXPECT_EQ(reply.spec().name(), "train");
  EXPECT_EQ(reply.view().ranges_size(), 1);
  EXPECT_EQ(reply.columns_size(), 1);
  EXPECT_EQ(reply.pipeline_fingerprint(), 77u);
}

TEST(CoordinatorHistory, EventsSurviveARestartAndTheirNumbersGoOn) {
  StateHarness h(AtNoon());
  h.Register("a");
  h.Prepare("train", {"a"});
  const std::vector<std::string> before = EventsOf(h, "train");
  ASSERT_EQ(before.size(), 3u);
  h.Restart();
  EXPECT_EQ(EventsOf(h, "train"), before);
  v1::DeleteRequest remove;
  remove.set_job("train");
  remove.set_running(true);
  h.Do<v1::DeleteReply>(remove);
  h.Prepare("train", {"a"});
  EXPECT_THAT(EventsOf(h, "train"), AllOf(IsSupersetOf(before), Contains("JOB_DELETED: ")));
  uint64_t last = 0;
  const v1::DescribeReply reply = Described(h, "train");
  for (const v1::HistoryEvent& event : reply.events()) {
    EXPECT_GT(event.number(), last);
    last = event.number();
  }
}

TEST(CoordinatorHistory, AWorkersDrainsAndLossesHaveTheirReasons) {
  StateHarness h;
  h.Register("a");
  h.Pass(4 * kSecond, {});
  h.Beat("a");
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("a", 2));
  v1::DrainRequest drain;
  drain.set_worker("a");
  h.Do<v1::DrainReply>(drain);
  v1::HeartbeatRequest last = BeatOf("a", 2);
  last.set_leaving(true);
  h.Do<v1::HeartbeatReply>(last);
  EXPECT_THAT(
      EventsOf(h, "a"),
      ElementsAre(HasSubstr("WORKER_JOINED: a at a.example:7071, penstock "), "WORKER_LOST: no heartbeat for 3 s",
                  "WORKER_JOINED: its heartbeats are back",
                  "WORKER_LOST: it crashed or was killed: another process registered before it left",
                  HasSubstr("WORKER_JOINED: a at"), "WORKER_DRAINS: by `penstock drain`", "WORKER_LEFT: it stopped"));
  EXPECT_EQ(Described(h, "a.example:7071").worker().id(), "a");  // by its address
}

TEST(CoordinatorHistory, HeartbeatsReportTuningAndRejectedCallersOnce) {
  StateHarness h;
  h.Register("a");
  v1::HeartbeatRequest beat = BeatOf("a");
  beat.mutable_load()->mutable_tuning()->set_changes(1);
  beat.mutable_load()->mutable_tuning()->set_last_change("threads 2 -> 3");
  h.Do<v1::HeartbeatReply>(beat);  // the change may be older than the coordinator
  beat.mutable_load()->mutable_tuning()->set_changes(2);
  beat.mutable_load()->mutable_tuning()->set_last_change("threads 3 -> 4");
  v1::RejectedCaller* const caller = beat.add_rejected();
  caller->set_host("10.0.0.9");
  caller->set_name("mallory");
  caller->set_reason("forbidden");
  caller->set_message("no ticket");
  h.Do<v1::HeartbeatReply>(beat);
  caller->set_count(1000);
  h.Do<v1::HeartbeatReply>(beat);
  EXPECT_THAT(EventsOf(h, "a"), ElementsAre(HasSubstr("WORKER_JOINED"), "TUNING: threads 3 -> 4",
                                            "REJECTION: 10.0.0.9 (forbidden): no ticket, by mallory"));
}

TEST(CoordinatorHistory, RejectionsOfTheCoordinatorAreEventsOfEachJobExceptForLimitedCallers) {
  StateHarness h;
  h.Register("a");
  h.Prepare("train", {"a"});
  NoteRejection note;
  note.caller.set_host("10.0.0.9");
  note.caller.set_reason("limit");
  note.caller.set_message("too many calls");
  h.Apply(note);
  EXPECT_THAT(EventsOf(h, "train"), Contains("REJECTION: 10.0.0.9 (limit): too many calls"));
  h.caller.name = "alice";
  h.caller.jobs = {"train"};
  EXPECT_THAT(EventsOf(h, "train"), Not(Contains(HasSubstr("REJECTION"))));
  h.caller.jobs = {"other"};
  EXPECT_EQ(h.state->Describe(Called("train"), h.caller, h.now).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Described(h, "a").parts_size(), 0);
  EXPECT_THAT(Text(h.state->Describe(Called("nothing"), h.caller, h.now).status()), HasSubstr("jobs: none"));
}

TEST(CoordinatorHistory, TheFirstBadRecordOfEachFileIsAnEvent) {
  StateHarness h;
  h.Register("a");
  h.Prepare("train", {"a"});
  const auto bad = [](uint64_t record) {
    v1::BadRecord entry;
    entry.set_record(record);
    entry.set_reason("wrong CRC");
    entry.set_message("the data's CRC");
    return entry;
  };
  h.ReportBad("a", "train", {bad(30)});
  h.ReportBad("a", "train", {bad(31), bad(3)});
  std::vector<std::string> files;
  for (const std::string& event : EventsOf(h, "train")) {
    if (event.rfind("BAD_FILE", 0) == 0) files.push_back(event);
  }
  EXPECT_THAT(files, ElementsAre("BAD_FILE: data/train-100001, record 5: wrong CRC: the data's CRC",
                                 "BAD_FILE: data/train-100000, record 3: wrong CRC: the data's CRC"));
}

TEST(CoordinatorHistory, WorkersAreFoundByNameAddressOrHostIfOneFits) {
  StateHarness h;
  for (const char* id : {"a", "b"}) {
    v1::RegisterWorkerRequest hello = WorkerCalled(id);
    hello.set_name(absl::StrCat("worker-", id));
    hello.set_host("node1");
    h.Do<v1::RegisterWorkerReply>(hello);
  }
  EXPECT_EQ(Described(h, "worker-b").registration().id(), "b");
  const absl::Status many = h.state->Describe(Called("node1"), h.caller, h.now).status();
  EXPECT_EQ(many.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(many), AllOf(HasSubstr("2 workers are \"node1\""), HasSubstr("a (worker-a), b (worker-b)")));
  h.Pass(5 * kSecond, {"b"});  // a is lost
  EXPECT_EQ(Described(h, "node1").registration().id(), "b");
  const absl::Status none = h.state->Describe(Called("worker-c"), h.caller, h.now).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Text(none), AllOf(HasSubstr("no job or worker \"worker-c\" (did you mean 'worker-a'?)"),
                                HasSubstr("jobs: none; workers: worker-a, worker-b")));
}

TEST(CoordinatorHistory, AWorkersPartsAreThoseOfTheViews) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  uint64_t records = 0;
  for (const char* id : {"a", "b"}) {
    const v1::DescribeReply reply = Described(h, id);
    ASSERT_EQ(reply.parts_size(), 1);
    EXPECT_EQ(reply.parts(0).job(), "train");
    records += reply.parts(0).records();
  }
  EXPECT_EQ(records, StateHarness::kShards * StateHarness::kRecords);
}

TEST(EventLog, AFloodOfEventsOfOneKindIsCountedInsteadOfStored) {
  int64_t time = 7;
  EventLog log([&time] { return time; });
  std::vector<v1::StoreEvent> facts;
  Nanos now = 0;
  // A thousand a second for ten minutes.
  for (int i = 0; i < 600'000; ++i) {
    now += kMillisecond;
    ++time;
    log.Add(now, EventOf(v1::HistoryEvent::VIEW, "train", "", absl::StrCat("view ", i)), &facts);
    log.Tick(now, &facts);
  }
  EXPECT_GE(facts.size(), EventLog::kAtOnce + 9);
  EXPECT_LE(facts.size(), EventLog::kAtOnce + 10);
  EXPECT_THAT(facts.back().add_history().message(), HasSubstr(" such events)"));
  // Other kinds and jobs are not delayed.
  const size_t before = facts.size();
  log.Add(now, EventOf(v1::HistoryEvent::JOB_FAILED, "train", "", std::string(5000, 'x')), &facts);
  log.Add(now, EventOf(v1::HistoryEvent::VIEW, "eval", "", ""), &facts);
  ASSERT_EQ(facts.size(), before + 2);
  EXPECT_EQ(facts[before].add_history().message().size(), 512u);
  // The last event of a flood is stored when the flood is over.
  now += 61 * kSecond;
  log.Tick(now, &facts);
  EXPECT_THAT(facts.back().add_history().message(), HasSubstr("view 599999 (the latest of "));
  EXPECT_EQ(log.events().rbegin()->second.message(), facts.back().add_history().message());
  EXPECT_EQ(log.dropped(), 0u);
}

}  // namespace
}  // namespace penstock::coordinator
