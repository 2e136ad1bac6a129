// A session of the fake job in one thread on virtual time: an in-process carrier, fake workers, a fake coordinator.
#ifndef PENSTOCK_TESTS_CLIENT_FAKES_SIM_SESSION_H_
#define PENSTOCK_TESTS_CLIENT_FAKES_SIM_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/runtime/sim_scheduler.h"
#include "client/session/open.h"
#include "client/session/session.h"
#include "tests/client/fakes/fake_job.h"
#include "tests/client/fakes/fake_streams.h"
#include "transport/in_process.h"

namespace penstock::client {

// Answers each call after some milliseconds, which the scheduler draws, and long polls when there is a change.
class SimCoordinator final : public CoordinatorClient {
 public:
  SimCoordinator(SimScheduler* scheduler, const FakeJob& job) : scheduler_(scheduler), job_(job.Proto()) {}

  void SetView(const std::vector<plan::ViewWorker>& workers);
  void SetState(v1::JobState state);
  // Publishes the view again, with the next number and this assignment policy, even one of another release.
  void SetPolicy(int policy);
  // While away, calls fail after some milliseconds. While deaf, they get no answer.
  void SetAway(bool away) { away_ = away; }
  void SetDeaf(bool deaf) { deaf_ = deaf; }
  // Makes OpenSession answer with this reason to wait. "": it opens sessions.
  void SetWait(const std::string& why) { wait_ = why; }
  // Forgets its sessions, and rejects them with this error when they open again.
  void GiveRankAway(absl::Status refusal) { refusal_ = std::move(refusal); }

  // The time from a report's answer to the next report; 0: the answer has none.
  void WantReportIn(uint32_t next_report_ms) { next_report_ms_ = next_report_ms; }
  // Decides that every copy of the record is damaged, and publishes it.
  void Decide(uint64_t record);
  // Answers that a worker has an intact copy of the record. Other records stay undecided.
  void SetIntact(uint64_t record) { intact_.insert(record); }
  const std::vector<v1::JudgeRecordsRequest>& judge_requests() const { return judge_requests_; }
  // File errors that Explain returns to waiting readers.
  void SetFileErrors(std::vector<std::string> lines) { file_errors_ = std::move(lines); }

  const std::vector<v1::ReportSessionRequest>& reports() const { return reports_; }
  int open_sessions() const { return open_sessions_; }

  std::string name() const override { return "the coordinator of a simulation"; }
  void OpenSession(const v1::OpenSessionRequest& request, Nanos timeout, Done<v1::OpenSessionReply> done) override;
  void Watch(const v1::WatchRequest& request, Nanos timeout, Done<v1::WatchReply> done) override;
  void ReportSession(const v1::ReportSessionRequest& request, Nanos timeout,
                     Done<v1::ReportSessionReply> done) override;
  void Explain(const v1::ExplainRequest& request, Nanos timeout, Done<v1::ExplainReply> done) override;
  void CloseSession(const v1::CloseSessionRequest& request, Nanos timeout, Done<v1::CloseSessionReply> done) override;
  // Adopts the reader's own decisions.
  void JudgeRecords(const v1::JudgeRecordsRequest& request, Nanos timeout, Done<v1::JudgeRecordsReply> done) override;
  void Cancel() override;

 private:
  template <typename Reply>
  void Answer(Nanos timeout, Done<Reply> done, std::function<absl::StatusOr<Reply>()> make);
  void News();
  v1::JobUpdate Update() const;

  SimScheduler* const scheduler_;
  v1::Job job_;
  uint64_t revision_ = 1;
  bool away_ = false, deaf_ = false;
  std::string wait_;
  absl::Status refusal_;
  int open_sessions_ = 0;
  uint64_t next_session_ = 1;
  uint32_t next_report_ms_ = 0;
  std::vector<std::string> file_errors_;
  std::vector<v1::ReportSessionRequest> reports_;
  std::vector<uint64_t> decided_;
  std::set<uint64_t> intact_;
  std::vector<v1::JudgeRecordsRequest> judge_requests_;
  Done<v1::WatchReply> watch_;  // the long poll under way
  TimerId watch_end_ = 0;
};

class SimSession {
 public:
  // Has `workers` fake workers w0, w1, ... at addresses of the same name.
  SimSession(uint64_t seed, int workers, FakeJob fake = {});
  ~SimSession();

  std::vector<plan::ViewWorker> Views() const;
  ReaderOptions options(uint64_t epochs = 1) const;

  // Opens within `timeout` of virtual time, and starts the session.
  absl::Status Open(const ReaderOptions& options, Nanos timeout = 20 * kSecond);
  // Returns the next batch or outcome, or nullopt if `within` passes without one.
  std::optional<absl::StatusOr<Batch>> Next(Nanos within);
  // Reads and checks batches, each within `within`, until an error, the end, or `at_most`. Returns their number.
  int Read(Nanos within, int at_most = 1 << 30);
  Nanos now() const { return scheduler.clock()->Now(); }

  const FakeJob job;
  SimScheduler scheduler;
  transport::InProcessTransport transport{&scheduler};
  std::shared_ptr<SimCoordinator> coordinator;
  std::vector<std::unique_ptr<FakeStreams>> workers;
  std::unique_ptr<Session> session;
  int due = 0;       // number of notifications from the session
  absl::Status end;  // status after the last Read
};

}  // namespace penstock::client

#endif  // PENSTOCK_TESTS_CLIENT_FAKES_SIM_SESSION_H_
