// A coordinator and workers that report which of their copies of records are damaged.
#ifndef PENSTOCK_TESTS_SERVER_COORDINATOR_VERDICTS_HARNESS_H_
#define PENSTOCK_TESTS_SERVER_COORDINATOR_VERDICTS_HARNESS_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "net/job_mirror.h"
#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {

class VerdictsHarness : public ::testing::Test {
 protected:
  using Check = v1::RecordCheck;

  // Registers `workers`. Starts a job of 200 records that they prepare, and a session that reads it.
  void Start(const std::vector<std::string>& workers, v1::ErrorPolicy policy = v1::MASK, float max_bad_fraction = 0) {
    for (const std::string& id : workers) h.Register(id);
    Submit(workers, policy, max_bad_fraction);
  }
  // Does the same as Start, with workers that are registered already.
  void Submit(const std::vector<std::string>& workers, v1::ErrorPolicy policy, float max_bad_fraction) {
    v1::JobSpec spec = SimpleSpec("train");
    spec.mutable_errors()->set_policy(policy);
    spec.mutable_errors()->set_max_bad_fraction(max_bad_fraction);
    h.Do<v1::SubmitReply>(SubmitOf(spec));
    h.Work(workers);
    Open();
  }
  void Open() {
    session = h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id();
    ASSERT_NE(session, "");
  }

  v1::JudgeRecordsRequest RequestFor(const std::vector<uint64_t>& records) {
    v1::JudgeRecordsRequest request;
    request.set_session_id(session);
    request.set_job_uid(h.Job("train").uid());
    request.mutable_records()->Add(records.begin(), records.end());
    return request;
  }
  v1::JudgeRecordsReply Judge(const std::vector<uint64_t>& records) {
    return h.Do<v1::JudgeRecordsReply>(RequestFor(records));
  }
  // Sends decisions that the reader made itself while the coordinator was away: `records` are bad.
  v1::JudgeRecordsReply Adopt(const std::vector<uint64_t>& records) {
    v1::JudgeRecordsRequest request = RequestFor({});
    for (const uint64_t record : records) {
      v1::BadRecord* decided = request.add_decided();
      decided->set_record(record);
      decided->set_reason("wrong CRC");
      decided->set_every_copy(true);
      decided->set_by_reader(true);
    }
    return h.Do<v1::JudgeRecordsReply>(request);
  }

  // Worker "a" reports that `record` is bad, for a reason other than a damaged copy.
  void ReportBad(uint64_t record, const std::string& reason) {
    v1::BadRecord bad;
    bad.set_record(record);
    bad.set_reason(reason);
    bad.set_message("what is wrong");
    h.ReportBad("a", "train", {bad});
  }

  // Sends a heartbeat of `worker`. Answers the checks in the reply, and those in the replies to the answers. Returns
  // the number of checked records.
  int Answer(const std::string& worker) {
    int checked = 0;
    for (std::vector<v1::Task> tasks = TasksIn(h.Beat(worker)); !tasks.empty();) {
      const v1::Task task = tasks.front();
      EXPECT_TRUE(task.has_check());
      EXPECT_EQ(task.job(), "train");
      EXPECT_EQ(task.job_uid(), h.Job("train").uid());
      checked += task.check().records_size();
      tasks = TasksIn(h.Report(ChecksOf(worker, task)));
    }
    return checked;
  }
  // Returns the report of `worker` on the records of a check, according to `usual` and `copies`.
  v1::ReportTaskRequest ChecksOf(const std::string& worker, const v1::Task& task) {
    v1::ReportTaskRequest report;
    report.set_worker_id(worker);
    report.set_task_id(task.id());
    for (const uint64_t record : task.check().records()) {
      v1::RecordCheck* check = report.add_checks();
      check->set_record(record);
      const auto copy = copies.find({worker, record});
      check->set_copy(copy == copies.end() ? usual[worker] : copy->second);
      if (check->copy() != Check::DAMAGED) continue;
      check->set_reason(reason_of_damage);
      check->set_message("the CRC of its data is wrong");
      check->set_offset(16 * record);
    }
    return report;
  }
  // Advances the time by `duration` in steps of 0.25 s. In each step `workers` send heartbeats and answer checks.
  void Pass(Nanos duration, const std::vector<std::string>& workers) {
    for (const Nanos until = h.now + duration; h.now < until;) {
      h.now += kSecond / 4;
      for (const std::string& worker : workers) Answer(worker);
      h.Apply(Tick());
    }
  }

  // Returns the records that a new watcher learns to be bad.
  std::vector<uint64_t> Decided() {
    net::JobMirror watcher("train");
    const auto reply = h.state->Watch(watcher.NextRequest(0));
    EXPECT_TRUE(reply.ok() && reply->has_value());
    const auto changes = watcher.Apply(**reply);
    EXPECT_TRUE(changes.ok()) << changes.status();
    const auto decided = watcher.Find("train")->decided;
    return decided == nullptr ? std::vector<uint64_t>() : *decided;
  }
  // Returns the records of the decisions in the coordinator's store.
  std::vector<uint64_t> Stored() {
    std::vector<uint64_t> records;
    const v1::StoredState stored = *h.store.Load();
    for (const v1::StoredDecisions& decisions : stored.decisions()) {
      for (const v1::BadRecord& record : decisions.records()) records.push_back(record.record());
    }
    return records;
  }
  v1::QuarantineReply Quarantine() {
    v1::QuarantineRequest request;
    request.set_job("train");
    return *h.state->GetQuarantine(request);
  }

  StateHarness h;
  std::string session;
  std::map<std::string, Check::Copy> usual;                        // state of a worker's copies
  std::string reason_of_damage;                                    // in the answers of workers
  std::map<std::pair<std::string, uint64_t>, Check::Copy> copies;  // exceptions for a worker's copies of single records
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_TESTS_SERVER_COORDINATOR_VERDICTS_HARNESS_H_
