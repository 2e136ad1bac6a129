#include "server/coordinator/state/quarantine.h"

#include <gtest/gtest.h>

#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

v1::BadRecord Bad(uint64_t number, const std::string& reason, const std::string& message) {
  v1::BadRecord record;
  record.set_record(number);
  record.set_reason(reason);
  record.set_message(message);
  record.set_offset(10 * number);
  return record;
}

TEST(QuarantineList, CountsARecordOnceWithItsFirstReason) {
  Quarantine quarantine;
  EXPECT_TRUE(quarantine.Add(Bad(7, "truncated image", "ends early")).has_value());
  EXPECT_FALSE(quarantine.Add(Bad(7, "wrong CRC", "again")).has_value());
  quarantine.Add(Bad(8, "truncated image", "ends early"));
  quarantine.Add(Bad(2, "missing feature", "label"));
  EXPECT_EQ(quarantine.size(), 3u);
  EXPECT_EQ(quarantine.Describe(), "2 truncated image, 1 missing feature");
  EXPECT_EQ(quarantine.listed().begin()->first, 2u);
  EXPECT_EQ(quarantine.listed().at(7).message(), "ends early");
}

TEST(QuarantineList, IsBoundedAndCountsEveryRecord) {
  Quarantine quarantine;
  for (uint64_t i = 0; i < 3000; ++i) {
    quarantine.Add(Bad(i, "reason " + std::to_string(i), std::string(5000, 'm')));
  }
  EXPECT_EQ(quarantine.size(), 3000u);
  EXPECT_EQ(quarantine.listed().size(), Quarantine::kMostListed);
  EXPECT_EQ(quarantine.listed().at(0).message().size(), Quarantine::kMostMessageBytes);
  EXPECT_EQ(quarantine.Reasons().size(), Quarantine::kMostReasons + 1);
  EXPECT_EQ(quarantine.Reasons()[0].reason(), "other");
  EXPECT_EQ(quarantine.Reasons()[0].records(), 3000 - Quarantine::kMostReasons);
}

TEST(QuarantineList, IsRestoredFromStoredRecordsInAnyOrder) {
  Quarantine quarantine;
  std::map<uint64_t, v1::BadRecord> stored;
  for (uint64_t i = 3000; i-- > 0;) {  // the list has the records added first: the last ones of the data set
    const auto kept = quarantine.Add(Bad(i, i % 2 == 0 ? "wrong CRC" : "no image", "what"));
    stored[i] = *kept;
  }
  Quarantine again;
  for (const auto& [number, record] : stored) again.Add(record);
  EXPECT_EQ(again.size(), quarantine.size());
  EXPECT_EQ(again.Describe(), quarantine.Describe());
  ASSERT_EQ(again.listed().size(), quarantine.listed().size());
  EXPECT_EQ(again.listed().begin()->first, quarantine.listed().begin()->first);
}

class CoordinatorQuarantine : public ::testing::Test {
 protected:
  CoordinatorQuarantine() {
    h.Register("a");
    v1::JobSpec spec = SimpleSpec("train");
    spec.mutable_errors()->set_max_bad_fraction(0.05F);
    h.Do<v1::SubmitReply>(SubmitOf(spec));
    h.Work({"a"});
  }
  v1::QuarantineReply Get() {
    v1::QuarantineRequest request;
    request.set_job("train");
    auto reply = h.state->GetQuarantine(request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return *reply;
  }
  StateHarness h;
};

TEST_F(CoordinatorQuarantine, NamesFileRecordOffsetAndReasonOfReportedRecords) {
  h.Register("b");
  h.ReportBad("a", "train", {Bad(26, "truncated image", "ends early")});
  h.ReportBad("b", "train",
              {Bad(26, "truncated image", "ends early"), Bad(3, "missing feature", "label"),
               Bad(10'000, "no image", "the job has 200 records")});
  const v1::QuarantineReply reply = Get();
  EXPECT_EQ(reply.bad_records(), 2u);
  EXPECT_EQ(reply.records(), 200u);
  EXPECT_EQ(reply.left_out(), 0u);
  ASSERT_EQ(reply.entries_size(), 2);
  EXPECT_EQ(reply.entries(0).record(), 3u);
  EXPECT_EQ(reply.entries(0).message(), "label");
  EXPECT_EQ(reply.entries(1).root(), "data");
  EXPECT_EQ(reply.entries(1).path(), "train-100001");
  EXPECT_EQ(reply.entries(1).record(), 1u);
  EXPECT_EQ(reply.entries(1).offset(), 260u);
  EXPECT_EQ(reply.entries(1).reason(), "truncated image");
  const auto status = h.JobStatus("train");
  EXPECT_EQ(status.bad_records(), 2u);
  ASSERT_EQ(status.bad_reasons_size(), 2);
  EXPECT_EQ(status.bad_reasons(0).records(), 1u);
}

TEST_F(CoordinatorQuarantine, SurvivesARestartAndTheEndOfTheJobButNotAReplacement) {
  h.ReportBad("a", "train", {Bad(26, "truncated image", "ends early")});
  const std::string before = Get().SerializeAsString();
  h.Restart();
  EXPECT_EQ(Get().SerializeAsString(), before);
  v1::CancelRequest cancel;
  cancel.set_job("train");
  h.Do<v1::CancelReply>(cancel);
  EXPECT_EQ(Get().SerializeAsString(), before);
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train"), true));
  EXPECT_EQ(Get().bad_records(), 0u);
  h.Restart();
  EXPECT_EQ(Get().bad_records(), 0u);
}

TEST_F(CoordinatorQuarantine, TooManyBadRecordsFailTheJobWithReasonsAndTheCommandForTheList) {
  std::vector<v1::BadRecord> bad;
  for (uint64_t i = 0; i < 11; ++i) bad.push_back(Bad(i, i < 9 ? "truncated image" : "missing feature", "what"));
  h.ReportBad("a", "train", bad);
  const std::string error = h.Job("train").error();
  EXPECT_EQ(h.Job("train").state(), v1::FAILED);
  EXPECT_NE(error.find("11 distinct records of 200 are bad (9 truncated image, 2 missing feature)"), std::string::npos)
      << error;
  EXPECT_NE(error.find("penstock quarantine train"), std::string::npos) << error;
  EXPECT_EQ(Get().entries_size(), 11);
}

// Trainers cannot name bad records at all: a session's report has no field for them.
TEST_F(CoordinatorQuarantine, AcceptsRecordsOnlyFromRegisteredWorkers) {
  v1::ReportRecordsRequest request;
  request.set_worker_id("a");
  request.set_incarnation(2);  // another process with the same name
  v1::JobRecords* const of = request.add_jobs();
  of->set_job("train");
  of->set_job_uid(h.Job("train").uid());
  for (uint64_t i = 0; i < 100; ++i) *of->add_bad() = Bad(i, "no image", "made up");
  EXPECT_TRUE(h.Do<v1::ReportRecordsReply>(request).register_again());
  request.set_worker_id("nobody");
  EXPECT_TRUE(h.Do<v1::ReportRecordsReply>(request).register_again());
  EXPECT_EQ(Get().bad_records(), 0u);
  EXPECT_EQ(h.Job("train").state(), v1::READY);
}

TEST_F(CoordinatorQuarantine, RecordsOfAnotherSubmissionAreNotCounted) {
  v1::ReportRecordsRequest request;
  request.set_worker_id("a");
  request.set_incarnation(1);
  v1::JobRecords* const of = request.add_jobs();
  of->set_job("train");
  of->set_job_uid(h.Job("train").uid() + 1);
  *of->add_bad() = Bad(1, "no image", "a record of the replaced job");
  EXPECT_FALSE(h.Do<v1::ReportRecordsReply>(request).register_again());
  EXPECT_EQ(Get().bad_records(), 0u);
}

TEST_F(CoordinatorQuarantine, AnUnknownJobIsAnErrorThatListsTheJobs) {
  v1::QuarantineRequest request;
  request.set_job("tarin");
  EXPECT_EQ(h.state->GetQuarantine(request).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace penstock::coordinator
