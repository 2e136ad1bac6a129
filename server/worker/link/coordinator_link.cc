#include "server/worker/link/coordinator_link.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "net/channel.h"
#include "net/grpc_status.h"
#include "penstock/v1/control.grpc.pb.h"

namespace penstock {
namespace {

constexpr absl::Duration kShortCall = absl::Seconds(2);  // a heartbeat is worth nothing later
constexpr absl::Duration kReportCall = absl::Seconds(10);
constexpr absl::Duration kIndexCall = absl::Seconds(5);  // blobs of some MiB; without one the shard is walked

class GrpcLink final : public CoordinatorLink {
 public:
  explicit GrpcLink(const std::string& address)
      : peer_(absl::StrCat("coordinator ", address)), stub_(v1::Coordinator::NewStub(MakeChannel(address))) {}

  absl::StatusOr<v1::RegisterWorkerReply> Register(const v1::RegisterWorkerRequest& request) override {
    return Call(&v1::Coordinator::Stub::RegisterWorker, request, kShortCall);
  }
  absl::StatusOr<v1::HeartbeatReply> Heartbeat(const v1::HeartbeatRequest& request) override {
    return Call(&v1::Coordinator::Stub::Heartbeat, request, kShortCall);
  }
  absl::StatusOr<v1::WatchReply> Watch(const v1::WatchRequest& request) override {
    return Call(&v1::Coordinator::Stub::Watch, request, absl::Milliseconds(request.wait_ms()) + absl::Seconds(5));
  }
  absl::StatusOr<v1::ReportTaskReply> ReportTask(const v1::ReportTaskRequest& request) override {
    return Call(&v1::Coordinator::Stub::ReportTask, request, kReportCall);
  }
  absl::Status PutIndex(uint64_t content_hash, std::string blob) override {
    v1::PutIndexRequest request;
    request.set_content_hash(content_hash);
    request.set_blob(std::move(blob));
    return Call(&v1::Coordinator::Stub::PutIndex, request, kIndexCall).status();
  }
  absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest& request) override {
    return Call(&v1::Coordinator::Stub::GetIndex, request, kIndexCall);
  }

  void Cancel() override {
    MutexLock lock(&mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : running_) context->TryCancel();
  }

 private:
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (v1::Coordinator::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                           Reply*),
                             const Request& request, absl::Duration timeout) {
    grpc::ClientContext context;
    SetDeadline(&context, timeout);
    {
      MutexLock lock(&mutex_);
      if (cancelled_) return absl::CancelledError(absl::StrCat(peer_, ": this worker is stopping"));
      running_.insert(&context);
    }
    Reply reply;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &reply);
    {
      MutexLock lock(&mutex_);
      running_.erase(&context);
    }
    if (!status.ok()) return FromGrpc(status, peer_);
    return reply;
  }

  const std::string peer_;
  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<CoordinatorLink> ConnectToCoordinator(const std::string& address) {
  return std::make_unique<GrpcLink>(address);
}

}  // namespace penstock
