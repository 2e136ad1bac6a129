// A fake job whose rows are computed from their number, and a coordinator that serves it.
#ifndef PENSTOCK_TESTS_CLIENT_FAKES_FAKE_JOB_H_
#define PENSTOCK_TESTS_CLIENT_FAKES_FAKE_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "net/channel.h"
#include "penstock/batch.h"
#include "penstock/v1/control.grpc.pb.h"
#include "pipeline/plan/data_order.h"
#include "pipeline/plan/steps.h"
#include "pipeline/plan/view.h"

namespace penstock::client {

// Columns: "image" uint8 [4, 5, 3], "label" int64, "values" ragged float32, "name" one string, "words" strings.
struct FakeJob {
  std::string name = "fake";
  uint64_t records = 100;
  uint32_t batch = 8;
  v1::LastBatch last = v1::DROP;
  uint64_t seed = 3;
  v1::JobState state = v1::READY;
  std::string error;

  plan::PlanOptions plan_options() const;
  std::shared_ptr<const plan::ShardOffsets> offsets() const;
  uint64_t order_fingerprint() const;
  // Returns the epoch's record at a row number (padding included).
  uint64_t RecordOf(uint64_t epoch, uint64_t row) const;
  // Has no view.
  v1::Job Proto() const;
  // Returns the row's payload in its wire form.
  std::string Payload(uint64_t epoch, uint64_t row) const;
};

// Returns "" if every column, id and flag of the batch matches the job's plan, or a description of the mismatch.
std::string CheckBatch(const FakeJob& job, const Batch& batch, uint64_t rank = 0, uint64_t world_size = 1);

// Ranges of equal size for the given workers (id, address). The next worker is the backup.
v1::View MakeFakeView(uint64_t number, uint64_t records, const std::vector<plan::ViewWorker>& workers);

// Answers for one job. Thread-safe.
class FakeCoordinator final : public v1::Coordinator::Service {
 public:
  explicit FakeCoordinator(FakeJob job);
  ~FakeCoordinator() override;
  std::string address() const { return address_.ToString(); }

  void SetView(const std::vector<plan::ViewWorker>& workers);
  void SetState(v1::JobState state, const std::string& error = "");
  // Replaces the published job.
  void SetJob(const v1::Job& job);
  v1::Job job();
  // Forgets all sessions, like a restart without stored sessions.
  void ForgetSessions();
  // Stop() closes the port, and Start() opens the same one again.
  void Stop();
  void Start();

  // Blocks until exactly this number of sessions is open.
  void WaitForSessions(size_t open);
  // Blocks until at least this number of requests to open a session has arrived.
  void WaitForOpened(size_t requests);
  // Returns all requests to open a session.
  std::vector<v1::OpenSessionRequest> opened();
  std::vector<v1::ReportSessionRequest> reports();

  grpc::Status OpenSession(grpc::ServerContext* context, const v1::OpenSessionRequest* request,
                           v1::OpenSessionReply* reply) override;
  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest* request, v1::WatchReply* reply) override;
  grpc::Status ReportSession(grpc::ServerContext* context, const v1::ReportSessionRequest* request,
                             v1::ReportSessionReply* reply) override;
  grpc::Status CloseSession(grpc::ServerContext* context, const v1::CloseSessionRequest* request,
                            v1::CloseSessionReply* reply) override;

 private:
  net::Address address_{"127.0.0.1", 0};
  Mutex mutex_;
  CondVar changed_;           // the job
  CondVar sessions_changed_;  // sessions_ or opened_
  v1::Job job_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t revision_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t next_session_ ABSL_GUARDED_BY(mutex_) = 1;
  std::vector<std::string> sessions_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::OpenSessionRequest> opened_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::ReportSessionRequest> reports_ ABSL_GUARDED_BY(mutex_);
  net::RunningServer running_;
};

}  // namespace penstock::client

#endif  // PENSTOCK_TESTS_CLIENT_FAKES_FAKE_JOB_H_
