// Trainers: opening, the ranks of a run, reports, bad records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "net/job_mirror.h"
#include "net/session_label.h"
#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

class CoordinatorSessions : public ::testing::Test {
 protected:
  CoordinatorSessions() {
    h.Register("a");
    h.Prepare("train", {"a"});
  }
  absl::Status Open(uint32_t rank, uint32_t world, uint64_t position, const std::string& resumes = "") {
    v1::OpenSessionRequest request = SessionOn("train", rank, world, position);
    request.set_resumes(resumes);
    Effects effects = h.Apply(request);
    if (effects.status.ok()) last = std::get<v1::OpenSessionReply>(effects.reply).session_id();
    return effects.status;
  }
  void Close(const std::string& id) {
    v1::CloseSessionRequest request;
    request.set_session_id(id);
    h.Do<v1::CloseSessionReply>(request);
  }
  bool Known(const std::string& id) {
    v1::ReportSessionRequest report;
    report.set_session_id(id);
    return !h.Do<v1::ReportSessionReply>(report).unknown_session();
  }

  StateHarness h;
  std::string last;
};

TEST_F(CoordinatorSessions, TrainersAndWorkersGetTheSameTimeForTheirNextReport) {
  EXPECT_TRUE(Open(0, 1, 0).ok());
  h.now = 100 * kSecond + 30 * kMillisecond;
  const v1::HeartbeatReply beat = h.Beat("a");
  const Nanos moment = h.now + beat.next_beat_ms() * kMillisecond;
  EXPECT_EQ(beat.next_beat_ms(), 970u);
  h.now += 400 * kMillisecond;
  v1::ReportSessionRequest report;
  report.set_session_id(last);
  EXPECT_EQ(h.now + h.Do<v1::ReportSessionReply>(report).next_report_ms() * kMillisecond, moment);
}

TEST_F(CoordinatorSessions, RanksThatOpenAtDifferentPositionsAreRejectedWithBothPositions) {
  EXPECT_TRUE(Open(0, 2, 50).ok());
  const absl::Status refused = Open(1, 2, 60);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  for (const char* part : {"rank 1", "position 60", "rank 0", "position 50", "same state"}) {
    EXPECT_THAT(std::string(refused.message()), HasSubstr(part));
  }
  EXPECT_TRUE(Open(1, 2, 50).ok());
}

TEST_F(CoordinatorSessions, ARankThatOpensAgainStartsAGenerationThatOthersMustMatch) {
  EXPECT_TRUE(Open(0, 2, 0).ok());
  const std::string first = last;
  EXPECT_TRUE(Open(1, 2, 0).ok());
  EXPECT_TRUE(Open(1, 2, 40).ok());
  EXPECT_FALSE(Open(0, 2, 0).ok());
  EXPECT_TRUE(Known(first));
  h.Pass(4 * kSecond, {"a"});  // the session sends no report meanwhile
  EXPECT_TRUE(Open(0, 2, 40).ok());
  EXPECT_FALSE(Known(first));  // the new session replaced it
}

// A trainer whose process was started again. Its old session no longer reports.
class CoordinatorRanks : public CoordinatorSessions {
 protected:
  struct Asked {
    absl::Status status;
    std::string id, wait;
  };
  Asked Ask(uint64_t process, const std::string& resumes = "") {
    v1::OpenSessionRequest request = SessionOn("train", 1, 2);
    request.set_process(process);
    request.set_host("host" + std::to_string(process));
    request.set_resumes(resumes);
    const Effects effects = h.Apply(request);
    if (!effects.status.ok()) return {effects.status, "", ""};
    const auto& reply = std::get<v1::OpenSessionReply>(effects.reply);
    return {effects.status, reply.session_id(), reply.wait()};
  }
  std::string NoteOf(const std::string& id) {
    const auto status = h.JobStatus("train");
    for (const auto& session : status.sessions()) {
      if (session.id() == net::SessionLabel(id)) return session.note();
    }
    return "no such session";
  }
};

TEST_F(CoordinatorRanks, ASecondReaderOfARankIsRejectedOnceTheFirstHasReported) {
  const std::string first = Ask(1).id;
  ASSERT_TRUE(Known(first));
  h.Pass(kSecond, {"a"});
  ASSERT_TRUE(Known(first));
  h.Pass(kSecond, {"a"});
  Asked second = Ask(2);
  EXPECT_EQ(second.id, "");
  EXPECT_EQ(second.wait, "rank 1 of 2 of job train has a reader that reported 1 s ago, reader " +
                             net::SessionLabel(first) +
                             " on host1. It is known within 3 s whether that reader is still alive");
  ASSERT_TRUE(Known(first));  // this report may have been under way when the process ended
  h.Pass(kSecond / 2, {"a"});
  EXPECT_NE(Ask(2).wait, "");
  EXPECT_NE(Ask(0).wait, "");
  h.Pass(kSecond / 2, {"a"});
  ASSERT_TRUE(Known(first));
  second = Ask(2);
  EXPECT_EQ(second.status.code(), Code::kAlreadyExists);
  for (const char* part : {"rank 1 of 2", "host1", "its own rank", "another group"}) {
    EXPECT_THAT(std::string(second.status.message()), HasSubstr(part));
  }
  EXPECT_EQ(NoteOf(first), "another reader on host2 asks for rank 1 of 2 and is refused while this one reports");
  for (int i = 0; i < 12; ++i) {
    h.Pass(kSecond, {"a"});
    ASSERT_TRUE(Known(first));
  }
  EXPECT_EQ(NoteOf(first), "");
  v1::OpenSessionRequest other = SessionOn("train", 1, 2);
  other.set_group("second run");
  EXPECT_TRUE(h.StatusOf(other).ok());
}

TEST_F(CoordinatorRanks, ARestartedTrainerGetsItsRankWithinSeconds) {
  const std::string first = Ask(1).id;
  ASSERT_TRUE(Known(first));
  // The coordinator refused another reader just before the trainer ended. This proves nothing for the successor.
  EXPECT_NE(Ask(7).wait, "");
  ASSERT_TRUE(Known(first));
  ASSERT_TRUE(Known(first));
  EXPECT_EQ(Ask(7).status.code(), Code::kAlreadyExists);
  EXPECT_NE(Ask(2).wait, "");
  ASSERT_TRUE(Known(first));  // the last report arrived late
  for (int i = 0; i < 12; ++i) {
    h.Pass(kSecond / 4, {"a"});
    EXPECT_NE(Ask(2).wait, "");
  }
  h.Pass(kSecond / 4, {"a"});
  const Asked second = Ask(2);
  EXPECT_NE(second.id, "") << second.status << second.wait;
  EXPECT_FALSE(Known(first));
  // A reader that never reported blocks no other.
  EXPECT_NE(Ask(3).id, "");
}

TEST_F(CoordinatorRanks, AReplacedReaderEndsAtItsNextReport) {
  const std::string first = Ask(1).id;
  ASSERT_TRUE(Known(first));
  h.Pass(4 * kSecond, {"a"});
  const std::string second = Ask(2).id;
  ASSERT_TRUE(Known(second));
  ASSERT_FALSE(Known(first));
  const Asked back = Ask(1, first);
  EXPECT_EQ(back.status.code(), Code::kAlreadyExists);
  EXPECT_THAT(std::string(back.status.message()), HasSubstr("host2"));
  EXPECT_TRUE(Known(second));
  h.Pass(4 * kSecond, {"a"});
  EXPECT_NE(Ask(1, first).id, "");  // the other reader has ended meanwhile
}

TEST_F(CoordinatorRanks, AfterARestartARankWaitsForItsFormerReader) {
  const std::string first = Ask(1).id;
  ASSERT_TRUE(Known(first));
  h.Restart();
  EXPECT_EQ(Ask(2).wait,
            "rank 1 of 2 of job train may have a reader from before the coordinator's restart: within 2 s it has "
            "reported, or the rank is free");
  h.Pass(kSecond, {"a"});
  EXPECT_NE(Ask(2).wait, "");
  ASSERT_FALSE(Known(first));
  const std::string again = Ask(1, first).id;
  ASSERT_NE(again, "");
  // The reader has the rank even before its first report.
  EXPECT_THAT(Ask(2).wait, HasSubstr("has a reader that reported 0 s ago"));
  for (int i = 0; i < 3; ++i) {
    h.Pass(kSecond, {"a"});
    ASSERT_TRUE(Known(again));
    Ask(2);
  }
  EXPECT_EQ(Ask(2).status.code(), Code::kAlreadyExists);
}

TEST_F(CoordinatorRanks, AfterARestartARankWhoseReaderIsGoneWaitsForTwoReportPeriods) {
  const std::string first = Ask(1).id;
  ASSERT_TRUE(Known(first));
  h.Restart();
  EXPECT_NE(Ask(2).wait, "");
  // Jobs submitted after the restart had no reader, and a world size of 1 has only one rank.
  EXPECT_TRUE(Open(0, 1, 0).ok());
  EXPECT_NE(last, "");
  h.Prepare("new", {"a"});
  EXPECT_NE(h.Do<v1::OpenSessionReply>(SessionOn("new", 1, 2)).session_id(), "");
  h.Pass(2 * kSecond, {"a"});
  EXPECT_NE(Ask(2).id, "");
}

TEST_F(CoordinatorRanks, AReaderWhoseReplyWasLostOpensAnotherSession) {
  const std::string first = Ask(1).id;
  h.Restart();
  const std::string lost = Ask(1, first).id;
  ASSERT_TRUE(Known(lost));
  const std::string second = Ask(2, first).id;  // also for a client that sends no process
  EXPECT_NE(second, "");
  EXPECT_FALSE(Known(lost));
}

TEST_F(CoordinatorRanks, AProcessMayOpenASecondReaderOfItsRankAndTheStatusNotesIt) {
  const std::string first = Ask(1).id;
  ASSERT_TRUE(Known(first));
  const std::string second = Ask(1).id;
  ASSERT_TRUE(Known(second));
  ASSERT_TRUE(Known(first));
  EXPECT_THAT(NoteOf(first),
              HasSubstr("two readers have rank 1 of 2: this and reader " + net::SessionLabel(second) + " on host1"));
  EXPECT_THAT(NoteOf(second),
              HasSubstr("two readers have rank 1 of 2: this and reader " + net::SessionLabel(first) + " on host1"));
  Close(first);
  EXPECT_EQ(NoteOf(second), "");
  // The other reader still has the rank.
  EXPECT_NE(Ask(2).wait, "");
  h.Pass(4 * kSecond, {"a"});
  EXPECT_NE(Ask(2).id, "");
}

TEST_F(CoordinatorSessions, OtherGroupsWorldSizesAndClosedRunsAreNotCompared) {
  EXPECT_TRUE(Open(0, 2, 0).ok());
  const std::string first = last;
  EXPECT_TRUE(Open(1, 5, 20).ok());
  EXPECT_TRUE(Open(0, 1, 30).ok());
  EXPECT_TRUE(Open(0, 1, 70).ok());
  v1::OpenSessionRequest other = SessionOn("train", 1, 2, 90);
  other.set_group("second run");
  EXPECT_TRUE(h.StatusOf(other).ok());
  Close(first);
  EXPECT_TRUE(Open(1, 2, 10).ok());
}

TEST_F(CoordinatorSessions, RanksThatContinueAfterARestartOfTheCoordinatorAreNotCompared) {
  EXPECT_TRUE(Open(0, 2, 0).ok());
  const std::string zero = last;
  EXPECT_TRUE(Open(1, 2, 0).ok());
  const std::string one = last;
  h.Restart();
  EXPECT_FALSE(Known(zero));
  EXPECT_TRUE(Open(0, 2, 120, zero).ok());
  EXPECT_NE(last, zero);
  EXPECT_TRUE(Open(1, 2, 110, one).ok());
  h.Pass(4 * kSecond, {"a"});
  EXPECT_TRUE(Open(1, 2, 100).ok());
  EXPECT_FALSE(Open(0, 2, 120).ok());
}

TEST_F(CoordinatorSessions, ReadersThatContinueTheirRanksAreNotComparedInAnyOrder) {
  const auto resume = [&](uint32_t rank, uint64_t position) {
    v1::OpenSessionRequest request = SessionOn("train", rank, 2, position);
    request.set_continues(true);
    return h.StatusOf(request);
  };
  ASSERT_TRUE(Open(0, 2, 0).ok());
  ASSERT_TRUE(Open(1, 2, 0).ok());
  EXPECT_TRUE(resume(1, 40).ok());
  EXPECT_TRUE(resume(0, 30).ok());
  EXPECT_TRUE(resume(0, 60).ok());
  EXPECT_TRUE(resume(1, 50).ok());
  // The coordinator compares ranks that begin, as before.
  EXPECT_TRUE(Open(0, 2, 80).ok());
  EXPECT_FALSE(Open(1, 2, 90).ok());
  EXPECT_TRUE(Open(1, 2, 80).ok());
}

TEST_F(CoordinatorSessions, TheStatusNotesWhyRowsDoNotUseSharedMemory) {
  ASSERT_TRUE(Open(0, 1, 0).ok());
  v1::ReportSessionRequest report;
  report.set_session_id(last);
  report.set_carriers("grpc");
  report.set_carriers_note("worker a is on this host, but its socket is another user's");
  h.Do<v1::ReportSessionReply>(report);
  EXPECT_EQ(h.JobStatus("train").sessions(0).note(), "worker a is on this host, but its socket is another user's");
}

TEST_F(CoordinatorSessions, InvalidRequestsAreRejectedWithTheReason) {
  EXPECT_EQ(Open(2, 2, 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(Open(0, 0, 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(Open(0, 3, 0).code(), Code::kInvalidArgument);  // 3 does not divide 10
  EXPECT_EQ(Open(0, 1, 201).code(), Code::kInvalidArgument);
  EXPECT_TRUE(Open(0, 1, 200).ok());
  v1::OpenSessionRequest request = SessionOn("train", 0, 3);
  request.set_batch_size(9);
  EXPECT_TRUE(h.StatusOf(request).ok());
  request.set_group(std::string(300, 'g'));
  EXPECT_EQ(h.StatusOf(request).code(), Code::kInvalidArgument);
  EXPECT_EQ(h.StatusOf(SessionOn("tarin")).code(), Code::kNotFound);
}

TEST_F(CoordinatorSessions, TheLastStepIsCheckedByTheJobsLastBatchPolicy) {
  v1::JobSpec spec = SimpleSpec("pad", 64);
  spec.mutable_batch()->set_last(v1::PARTIAL);
  h.Do<v1::SubmitReply>(SubmitOf(spec));
  h.Work({"a"});
  EXPECT_TRUE(h.StatusOf(SessionOn("pad")).ok());
  EXPECT_EQ(h.StatusOf(SessionOn("pad", 0, 2)).code(), Code::kInvalidArgument);
  spec.mutable_batch()->set_last(v1::PAD);
  spec.mutable_order()->set_shuffle(v1::Order::FULL);
  h.Do<v1::SubmitReply>(SubmitOf(spec, true));
  h.Work({"a"});
  EXPECT_TRUE(h.StatusOf(SessionOn("pad", 0, 2)).ok());
}

TEST_F(CoordinatorSessions, TheOrderFingerprintDependsOnTheOrder) {
  const uint64_t chunked = h.Job("train").order_fingerprint();
  v1::JobSpec spec = SimpleSpec("other");
  h.Do<v1::SubmitReply>(SubmitOf(spec));
  h.Work({"a"});
  EXPECT_EQ(h.Job("other").order_fingerprint(), chunked);
  spec.mutable_order()->set_shuffle(v1::Order::NONE);
  spec.mutable_order()->set_repeats(2);
  spec.mutable_order()->set_chunk_records(32);
  spec.mutable_order()->set_window_chunks(16);
  h.Do<v1::SubmitReply>(SubmitOf(spec, true));
  h.Work({"a"});
  EXPECT_NE(h.Job("other").order_fingerprint(), chunked);
}

TEST_F(CoordinatorSessions, ASilentSessionIsClosed) {
  EXPECT_TRUE(Open(0, 1, 0).ok());
  h.Pass(59 * kSecond, {"a"});
  EXPECT_TRUE(Known(last));
  h.Pass(61 * kSecond, {"a"});
  EXPECT_FALSE(Known(last));
  EXPECT_EQ(h.JobStatus("train").sessions_size(), 0);
}

TEST_F(CoordinatorSessions, TooManySessionsAreRejected) {
  StateOptions options;
  options.max_sessions = 1;
  StateHarness small(options);
  small.Register("a");
  small.Prepare("train", {"a"});
  EXPECT_TRUE(small.StatusOf(SessionOn("train")).ok());
  EXPECT_EQ(small.StatusOf(SessionOn("train")).code(), Code::kResourceExhausted);
}

TEST_F(CoordinatorSessions, TheStatusShowsProgress) {
  EXPECT_TRUE(Open(0, 1, 0).ok());
  v1::ReportSessionRequest report;
  report.set_session_id(last);
  report.set_epoch(2);
  report.set_position(130);
  report.set_rows_per_second(1000);
  report.set_wait_fraction(0.25);
  report.set_rows(530);
  h.Do<v1::ReportSessionReply>(report);
  h.now += 5 * kSecond;
  const auto status = h.JobStatus("train");
  ASSERT_EQ(status.sessions_size(), 1);
  EXPECT_EQ(status.sessions(0).epoch(), 2u);
  EXPECT_EQ(status.sessions(0).position(), 130u);
  EXPECT_EQ(status.sessions(0).epoch_positions(), 200u);
  EXPECT_EQ(status.sessions(0).seconds_since_report(), 5u);
  EXPECT_EQ(status.sessions(0).rows(), 530u);
}

TEST_F(CoordinatorSessions, TheLastReportOfAClosingSessionCounts) {
  ASSERT_TRUE(Open(0, 1, 0).ok());
  v1::CloseSessionRequest request;
  request.set_session_id(last);
  request.mutable_last()->set_session_id(last);
  request.mutable_last()->add_failed_workers("a");
  h.Register("b");
  h.Do<v1::CloseSessionReply>(request);
  EXPECT_EQ(h.Worker("a").state(), v1::WorkerStatus::SUSPECT);
  EXPECT_FALSE(Known(last));
}

TEST_F(CoordinatorSessions, DistinctBadRecordsAreCountedStoredAndFailTheJobAboveTheLimit) {
  EXPECT_TRUE(Open(0, 1, 0).ok());
  auto report = [&](const std::vector<uint64_t>& bad) {
    std::vector<v1::BadRecord> records(bad.size());
    for (size_t i = 0; i < bad.size(); ++i) records[i].set_record(bad[i]);
    h.ReportBad("a", "train", records);
  };
  report({7, 7, 26, 10'000});
  report({7});
  EXPECT_EQ(h.JobStatus("train").bad_records(), 2u);  // 1 % of 200
  EXPECT_EQ(h.Job("train").state(), v1::READY);
  h.Restart();
  EXPECT_EQ(h.JobStatus("train").bad_records(), 2u);
  EXPECT_TRUE(Open(0, 1, 0).ok());
  report({26 + 25});
  EXPECT_EQ(h.Job("train").state(), v1::FAILED);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("3 distinct records of 200"));
  EXPECT_THAT(h.Job("train").error(), HasSubstr("record 1 of data/train-100002"));
  EXPECT_THAT(h.Job("train").error(), HasSubstr("errors.max_bad_fraction"));
  EXPECT_FALSE(Known(last));
}

TEST_F(CoordinatorSessions, ATrainersWaitIsShownForItsSessionAndItsJob) {
  EXPECT_TRUE(Open(0, 1, 0).ok());
  v1::ReportSessionRequest report;
  report.set_session_id(last);
  report.set_waiting_for("12 rows of step 40 from worker a");
  h.Do<v1::ReportSessionReply>(report);
  EXPECT_EQ(h.JobStatus("train").sessions(0).waiting_for(), "12 rows of step 40 from worker a");
  EXPECT_EQ(h.JobStatus("train").waiting(), "rank 0 of 1: 12 rows of step 40 from worker a");
  // However long the text is, the coordinator cuts it to whole characters.
  std::string words = "x";
  for (int i = 0; i < 4000; ++i) words += "\xc3\xa9";
  report.set_waiting_for(words);
  h.Do<v1::ReportSessionReply>(report);
  const std::string kept = h.JobStatus("train").sessions(0).waiting_for();
  EXPECT_EQ(kept.size(), 1023u);
  EXPECT_EQ(kept, words.substr(0, kept.size()));
  report.clear_waiting_for();
  h.Do<v1::ReportSessionReply>(report);
  EXPECT_EQ(h.JobStatus("train").waiting(), "");
}

TEST_F(CoordinatorSessions, AReopenedSessionReceivesOnlyMissingParts) {
  net::JobMirror watched("train");
  v1::OpenSessionRequest request = SessionOn("train");
  const auto first = h.Do<v1::OpenSessionReply>(request);
  EXPECT_TRUE(first.job().has_metadata());
  EXPECT_TRUE(first.job().has_view());
  ASSERT_TRUE(watched.Apply(first.job(), first.revision()).ok());
  h.Restart();
  *request.mutable_held() = watched.Held("train");
  const auto again = h.Do<v1::OpenSessionReply>(request);
  EXPECT_FALSE(again.job().has_metadata());
  EXPECT_FALSE(again.job().has_view());
  EXPECT_TRUE(watched.Apply(again.job(), again.revision()).ok());
}

}  // namespace
}  // namespace penstock::coordinator
