// Records whose copies are damaged: which workers the coordinator asks, for how long it waits, and what it concludes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/coordinator/verdicts_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecordInquiries : public VerdictsHarness {};

TEST_F(RecordInquiries, AnIntactCopyMakesNoDecisionAndALaterQuestionStartsAnInquiry) {
  Start({"a", "b"});
  usual = {{"a", Check::DAMAGED}, {"b", Check::INTACT}};
  Judge({17});
  Answer("b");
  EXPECT_THAT(Judge({17}).intact(), ElementsAre(17));
  EXPECT_THAT(Judge({17}).bad(), IsEmpty());
  Pass(10 * kSecond, {"a", "b"});
  EXPECT_THAT(Judge({17}).intact(), IsEmpty());
  EXPECT_THAT(Decided(), IsEmpty());
  // Its copy becomes damaged meanwhile.
  usual["b"] = Check::DAMAGED;
  Pass(kSecond, {"a", "b"});
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
  EXPECT_THAT(Stored(), ElementsAre(17));
  EXPECT_EQ(Quarantine().bad_records(), 1u);
}

TEST_F(RecordInquiries, TheReasonIsThatOfTheFirstDamagedCopy) {
  Start({"a"});
  usual = {{"a", Check::DAMAGED}};
  Judge({17});
  Answer("a");  // an older worker gives no reason
  reason_of_damage = "no file";
  Judge({18});
  Answer("a");
  reason_of_damage = std::string(1000, 'x');
  Judge({19});
  Answer("a");
  std::vector<std::string> reasons;
  const v1::QuarantineReply quarantine = Quarantine();
  for (const auto& entry : quarantine.entries()) reasons.push_back(entry.reason());
  EXPECT_THAT(reasons, ElementsAre("wrong CRC", "no file", testing::SizeIs(testing::Le(43u))));
}

TEST_F(RecordInquiries, ALostWorkerDelaysTheDecisionFor30Seconds) {
  Start({"a", "b"});
  usual["a"] = Check::DAMAGED;
  h.Pass(4 * kSecond, {"a"});
  ASSERT_EQ(h.Worker("b").state(), v1::WorkerStatus::DEAD);
  const Nanos lost = h.now;
  Judge({17});
  while (h.now - lost < 28 * kSecond) {
    Pass(kSecond, {"a"});
    ASSERT_THAT(Judge({17}).bad(), IsEmpty()) << (h.now - lost) / kSecond;
  }
  Pass(2 * kSecond, {"a"});
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
  // The inquiry does not wait for a worker that was lost long ago.
  Judge({18});
  Answer("a");
  EXPECT_THAT(Judge({18}).bad(), ElementsAre(18));
  // A decision stays when an intact copy joins.
  usual["b"] = Check::INTACT;
  h.Register("b");
  Pass(2 * kSecond, {"a", "b"});
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
  EXPECT_THAT(Decided(), ElementsAre(17, 18));
}

TEST_F(RecordInquiries, ALostWorkerThatReturnsInTimeIsAsked) {
  Start({"a", "b"});
  usual = {{"a", Check::DAMAGED}, {"b", Check::INTACT}};
  Judge({17});
  TasksIn(h.Beat("b"));  // the worker dies with its check
  h.Pass(14 * kSecond, {"a"});
  Pass(kSecond, {"a"});
  EXPECT_THAT(Judge({17}).bad(), IsEmpty());
  Pass(kSecond, {"a", "b"});
  EXPECT_THAT(Judge({17}).intact(), ElementsAre(17));
}

TEST_F(RecordInquiries, AWorkerThatLeftDoesNotDelayTheDecision) {
  Start({"a", "b"});
  usual["a"] = Check::DAMAGED;
  v1::HeartbeatRequest leave = BeatOf("b");
  leave.set_leaving(true);
  h.Do<v1::HeartbeatReply>(leave);
  Judge({17});
  Answer("a");
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
}

TEST_F(RecordInquiries, ADrainingWorkerIsAskedButDoesNotDelayTheDecisionWhenLost) {
  Start({"a", "b"});
  usual = {{"a", Check::DAMAGED}, {"b", Check::INTACT}};
  v1::DrainRequest drain;
  drain.set_worker("b");
  h.Do<v1::DrainReply>(drain);
  Judge({17});
  Answer("a");
  Answer("b");
  EXPECT_THAT(Judge({17}).intact(), ElementsAre(17));
  h.Pass(4 * kSecond, {"a"});
  ASSERT_EQ(h.Worker("b").state(), v1::WorkerStatus::DEAD);
  Judge({18});
  Answer("a");
  EXPECT_THAT(Judge({18}).bad(), ElementsAre(18));
}

TEST_F(RecordInquiries, AnUnreadableCopyIsCheckedAgainFor30SecondsAndThenIgnored) {
  Start({"a", "b"});
  usual = {{"a", Check::DAMAGED}, {"b", Check::UNREADABLE}};
  const Nanos asked = h.now;
  Judge({17});
  while (h.now - asked < 29 * kSecond) {
    Pass(kSecond, {"a", "b"});
    ASSERT_THAT(Judge({17}).bad(), IsEmpty()) << (h.now - asked) / kSecond;
  }
  Pass(2 * kSecond, {"a", "b"});
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
}

TEST_F(RecordInquiries, StorageThatReturnsInTimeCounts) {
  Start({"a", "b"});
  usual = {{"a", Check::DAMAGED}, {"b", Check::UNREADABLE}};
  Judge({17});
  Pass(20 * kSecond, {"a", "b"});
  usual["b"] = Check::INTACT;
  Pass(3 * kSecond, {"a", "b"});
  EXPECT_THAT(Judge({17}).intact(), ElementsAre(17));
}

TEST_F(RecordInquiries, NothingIsDecidedWhileNoWorkerCanReadARecord) {
  Start({"a", "b"});
  usual = {{"a", Check::NO_FILE}, {"b", Check::UNREADABLE}};
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(Judge({17}).bad(), IsEmpty());
    Pass(kSecond, {"a", "b"});
  }
  usual["b"] = Check::DAMAGED;  // the worker's storage is available again
  Pass(3 * kSecond, {"a", "b"});
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
}

TEST_F(RecordInquiries, AWorkerThatBeatsButDoesNotAnswerDoesNotCountAfter30Seconds) {
  Start({"a", "b"});
  usual = {{"a", Check::DAMAGED}, {"b", Check::INTACT}};
  Judge({17});
  const v1::Task task = TasksIn(h.Beat("b")).at(0);
  for (int i = 0; i < 29; ++i) {
    EXPECT_THAT(TasksIn(h.Beat("b")), SizeIs(1));  // the coordinator repeats the check
    EXPECT_THAT(Judge({17}).bad(), IsEmpty());
    Pass(kSecond, {"a"});
  }
  Pass(2 * kSecond, {"a"});
  EXPECT_EQ(h.Worker("b").state(), v1::WorkerStatus::LIVE);
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
  h.Report(ChecksOf("b", task));  // too late
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
  EXPECT_THAT(Judge({17}).intact(), IsEmpty());
}

TEST_F(RecordInquiries, AWorkerThatFailsItsTaskIsAskedAgain) {
  Start({"a"});
  usual["a"] = Check::DAMAGED;
  Judge({17});
  h.Report(h.Failure("a", TasksIn(h.Beat("a")).at(0), "unknown task", true));
  EXPECT_THAT(TasksIn(h.Beat("a")), IsEmpty());  // none until a pause is over
  EXPECT_THAT(Judge({17}).bad(), IsEmpty());
  EXPECT_EQ(h.Job("train").state(), v1::READY);
  Pass(3 * kSecond, {"a"});
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
}

TEST_F(RecordInquiries, WorkersThatCannotServeTheJobAreNotAsked) {
  Start({"a"});
  usual["a"] = Check::DAMAGED;
  v1::RegisterWorkerRequest other = WorkerCalled("other");
  other.set_conformance_digest("d2");
  h.Do<v1::RegisterWorkerReply>(other);
  Judge({17});
  EXPECT_EQ(Answer("other"), 0);
  Answer("a");
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
}

// 20 workers on 18 hosts.
TEST_F(RecordInquiries, AtMost16WorkersOnAsManyHostsAsPossibleAreAsked) {
  std::vector<std::string> workers;
  for (int i = 0; i < 20; ++i) {
    v1::RegisterWorkerRequest worker = WorkerCalled("w" + std::to_string(100 + i));
    worker.set_host("host" + std::to_string(std::max(i, 2)));  // three workers on one host
    h.Do<v1::RegisterWorkerReply>(worker);
    workers.push_back(worker.id());
    usual[worker.id()] = Check::DAMAGED;
  }
  Submit(workers, v1::MASK, 0);
  Judge({17});
  std::vector<std::string> asked;
  int on_host2 = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    const std::vector<v1::Task> tasks = TasksIn(h.Beat(workers[i]));
    if (tasks.empty()) continue;
    asked.push_back(workers[i]);
    on_host2 += i < 3 ? 1 : 0;
  }
  EXPECT_THAT(asked, SizeIs(16));
  EXPECT_LE(on_host2, 1);
  // One of them does not have the file: the coordinator asks another one instead.
  usual[asked[0]] = Check::NO_FILE;
  for (const std::string& worker : asked) Answer(worker);
  EXPECT_THAT(Judge({17}).bad(), IsEmpty());
  int more = 0;
  for (const std::string& worker : workers) more += Answer(worker);
  EXPECT_EQ(more, 1);
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
}

TEST_F(RecordInquiries, ManyRecordsAreCheckedInBatchesOneAtATime) {
  Start({"a", "b"}, v1::MASK, 1);
  usual = {{"a", Check::DAMAGED}, {"b", Check::DAMAGED}};
  std::vector<uint64_t> records;
  for (uint64_t i = 0; i < 150; ++i) records.push_back(i);
  Judge(records);
  const std::vector<v1::Task> tasks = TasksIn(h.Beat("a"));
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_LT(tasks[0].check().records_size(), 100);
  const std::vector<v1::Task> again = TasksIn(h.Beat("a"));
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].id(), tasks[0].id());
  EXPECT_EQ(Answer("a"), 150);
  EXPECT_EQ(Answer("b"), 150);
  EXPECT_THAT(Judge(records).bad(), SizeIs(150));
  EXPECT_EQ(Quarantine().bad_records(), 150u);
  EXPECT_EQ(Answer("a") + Answer("b"), 0);
}

TEST_F(RecordInquiries, NewQuestionsWakeWorkers) {
  Start({"a", "b"});
  h.state->TakeNews();
  Judge({17});
  EXPECT_TRUE(h.state->TakeNews().workers);
  EXPECT_TRUE(h.state->HasWaitingTasks());
  h.Beat("a");
  h.Beat("b");
  EXPECT_FALSE(h.state->HasWaitingTasks());
  Judge({17});
  EXPECT_FALSE(h.state->TakeNews().workers);
}

TEST_F(RecordInquiries, WorkersThatAreSilentAfterARestartCountAsLost) {
  Start({"a", "b"});
  usual = {{"a", Check::DAMAGED}, {"b", Check::DAMAGED}};
  h.Restart();
  const Nanos restarted = h.now;
  Open();
  Judge({17});
  while (h.now - restarted < 29 * kSecond) {
    Pass(kSecond, {"a"});
    ASSERT_THAT(Judge({17}).bad(), IsEmpty()) << (h.now - restarted) / kSecond;
  }
  Pass(2 * kSecond, {"a"});
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
}

TEST_F(RecordInquiries, RequestsWithoutASessionAndTooLargeRequestsAreRejected) {
  Start({"a"});
  v1::JudgeRecordsRequest request = RequestFor({17});
  request.set_session_id("s9-9");
  EXPECT_TRUE(h.Do<v1::JudgeRecordsReply>(request).unknown_session());
  request = RequestFor({17});
  request.set_job_uid(request.job_uid() + 1);
  EXPECT_TRUE(h.Do<v1::JudgeRecordsReply>(request).unknown_session());
  EXPECT_EQ(h.StatusOf(RequestFor(std::vector<uint64_t>(5000, 17))).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(TasksIn(h.Beat("a")), IsEmpty());
  // The snapshot does not have these records.
  Adopt({200});
  Judge({200, UINT64_MAX});
  EXPECT_THAT(TasksIn(h.Beat("a")), IsEmpty());
  EXPECT_THAT(Stored(), IsEmpty());
}

TEST_F(RecordInquiries, QuestionsThatNoReaderRepeatsEnd) {
  Start({"a"});
  usual["a"] = Check::UNREADABLE;
  Judge({17});
  Pass(70 * kSecond, {"a"});
  usual["a"] = Check::DAMAGED;
  EXPECT_EQ(Answer("a"), 0);
  EXPECT_THAT(Decided(), IsEmpty());
}

}  // namespace
}  // namespace penstock::coordinator
