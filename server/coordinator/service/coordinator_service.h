// The coordinator's RPCs. Each is an event or a query for the control loop, or file work. No reactor blocks.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_COORDINATOR_SERVICE_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_COORDINATOR_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/runtime/clock.h"
#include "base/runtime/thread_pool.h"
#include "penstock/v1/control.grpc.pb.h"
#include "server/common/rpc_gate.h"
#include "server/coordinator/service/control_loop.h"
#include "server/coordinator/state/events.h"
#include "server/coordinator/store/index_blobs.h"
#include "server/peers/rejections.h"

namespace penstock::coordinator {

// Watch is raw, so that one encoded answer serves all watchers with the same reply.
class CoordinatorService final : public v1::Coordinator::WithRawCallbackMethod_Watch<v1::Coordinator::CallbackService> {
 public:
  // `clock` is the clock of the loop's executor. `loop`, `clock`, `blobs` and `files` must outlive the service and its
  // server. `gate` decides about each call. Adds the callers that the state rejects to `rejections`. `complete_status`
  // adds what the state does not know to a reply, and must not block.
  CoordinatorService(
      ControlLoop* loop, Clock* clock, IndexBlobs* blobs, ThreadPool* files, server::RpcGate gate,
      server::RecordCall record_call = nullptr,
      std::shared_ptr<server::Rejections> rejections = std::make_shared<server::Rejections>(),
      std::function<void(v1::StatusReply*)> complete_status = [](v1::StatusReply*) {})
      : gate_(std::move(gate)),
        record_call_(std::move(record_call)),
        rejections_(std::move(rejections)),
        complete_status_(std::move(complete_status)),
        loop_(loop),
        clock_(clock),
        blobs_(blobs),
        files_(files) {}

  // Starts to collect this process's files for a support file, and calls `done` with them, on any thread.
  using CollectFiles = std::function<void(std::function<void(v1::PutSupportRequest files)> done)>;
  // Unset: support files lack this process. Call it before the first call arrives.
  void SetCollectFiles(CollectFiles collect) { collect_ = std::move(collect); }

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  Reactor* Submit(Context*, const v1::SubmitRequest*, v1::SubmitReply*) override;
  Reactor* Cancel(Context*, const v1::CancelRequest*, v1::CancelReply*) override;
  Reactor* Pause(Context*, const v1::PauseRequest*, v1::PauseReply*) override;
  Reactor* Resume(Context*, const v1::ResumeRequest*, v1::ResumeReply*) override;
  Reactor* Delete(Context*, const v1::DeleteRequest*, v1::DeleteReply*) override;
  Reactor* Purge(Context*, const v1::PurgeRequest*, v1::PurgeReply*) override;
  Reactor* GetStatus(Context*, const v1::StatusRequest*, v1::StatusReply*) override;
  Reactor* ListShards(Context*, const v1::ListShardsRequest*, v1::ListShardsReply*) override;
  Reactor* GetQuarantine(Context*, const v1::QuarantineRequest*, v1::QuarantineReply*) override;
  Reactor* Explain(Context*, const v1::ExplainRequest*, v1::ExplainReply*) override;
  Reactor* StartTrace(Context*, const v1::StartTraceRequest*, v1::StartTraceReply*) override;
  Reactor* GetTrace(Context*, const v1::GetTraceRequest*, v1::GetTraceReply*) override;
  Reactor* PutTrace(Context*, const v1::PutTraceRequest*, v1::PutTraceReply*) override;
  Reactor* Drain(Context*, const v1::DrainRequest*, v1::DrainReply*) override;
  Reactor* Describe(Context*, const v1::DescribeRequest*, v1::DescribeReply*) override;
  Reactor* StartSupport(Context*, const v1::StartSupportRequest*, v1::StartSupportReply*) override;
  Reactor* GetSupport(Context*, const v1::GetSupportRequest*, v1::GetSupportReply*) override;
  Reactor* PutSupport(Context*, const v1::PutSupportRequest*, v1::PutSupportReply*) override;
  Reactor* Revoke(Context*, const v1::RevokeRequest*, v1::RevokeReply*) override;
  Reactor* Watch(Context*, const grpc::ByteBuffer*, grpc::ByteBuffer*) override;
  Reactor* RegisterWorker(Context*, const v1::RegisterWorkerRequest*, v1::RegisterWorkerReply*) override;
  Reactor* Heartbeat(Context*, const v1::HeartbeatRequest*, v1::HeartbeatReply*) override;
  Reactor* ReportTask(Context*, const v1::ReportTaskRequest*, v1::ReportTaskReply*) override;
  Reactor* ReportRecords(Context*, const v1::ReportRecordsRequest*, v1::ReportRecordsReply*) override;
  Reactor* PutIndex(Context*, const v1::PutIndexRequest*, v1::PutIndexReply*) override;
  Reactor* GetIndex(Context*, const v1::GetIndexRequest*, v1::GetIndexReply*) override;
  Reactor* OpenSession(Context*, const v1::OpenSessionRequest*, v1::OpenSessionReply*) override;
  Reactor* ReportSession(Context*, const v1::ReportSessionRequest*, v1::ReportSessionReply*) override;
  Reactor* CloseSession(Context*, const v1::CloseSessionRequest*, v1::CloseSessionReply*) override;
  Reactor* JudgeRecords(Context*, const v1::JudgeRecordsRequest*, v1::JudgeRecordsReply*) override;

 private:
  // Each handler starts in one of these functions, or in gate_.Enter itself.
  template <typename Req, typename Rep>
  Reactor* ApplyToState(server::Rpc rpc, Context* context, const Req* request, Rep* reply);
  // As ApplyToState, for a control call, which it records.
  template <typename Req, typename Rep>
  Reactor* Control(server::Rpc rpc, Context* context, const Req* request, Rep* reply);
  template <typename Req, typename Ask>
  Reactor* ReadState(server::Rpc rpc, Context* context, const Req* request, Ask ask);
  // Records a control call or a denied job.
  void Record(server::Rpc rpc, const transport::Peer& caller, std::string_view object,
              const absl::Status& outcome) const;
  // Adds the caller to `rejections_` if the status rejects it.
  void Note(const transport::Peer& caller, const absl::Status& status) const;
  // Returns PermissionDenied, and records it, if the caller may not read the job that the request names.
  template <typename Request>
  absl::Status CheckJob(server::Rpc rpc, const transport::Peer& caller, const Request& request) const;
  // Runs `work` on the thread for files, and passes it the call, which `work` must finish.
  template <typename Work>
  Reactor* WithFiles(server::Rpc rpc, Context* context, Work work);
  class FileCall;
  void PutIndexFile(const v1::PutIndexRequest& request, std::shared_ptr<FileCall> call);
  void FindIndex(const v1::GetIndexRequest& request, v1::GetIndexReply* reply, std::shared_ptr<FileCall> call);
  // Ends the turn of an index, and then the call with `status`.
  void EndTurn(EndIndexTurn turn, const absl::Status& status, std::shared_ptr<FileCall> call);
  // Returns the caller's deadline as a time of the loop's clock.
  Nanos DeadlineOf(const Context& context) const;

  void CollectOwnSupport(uint64_t id);
  // Removes the indexes, and reports that to the purge of the job.
  void PurgeBlobs(uint64_t job_uid, std::vector<uint64_t> blobs);

  const server::RpcGate gate_;
  const server::RecordCall record_call_;
  const std::shared_ptr<server::Rejections> rejections_;
  const std::function<void(v1::StatusReply*)> complete_status_;
  CollectFiles collect_ = nullptr;
  ControlLoop* const loop_;
  Clock* const clock_;
  IndexBlobs* const blobs_;
  ThreadPool* const files_;
  std::atomic<uint64_t> next_watch_{1};
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_COORDINATOR_SERVICE_H_
