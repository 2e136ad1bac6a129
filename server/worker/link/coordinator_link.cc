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

constexpr absl::Duration kShortCall = absl::Seconds(2);  // a heartbeat that takes longer has no value
constexpr absl::Duration kReportCall = absl::Seconds(10);
// Blobs have a few MiB. Without a blob the worker scans the shard.
constexpr absl::Duration kIndexCall = absl::Seconds(5);

// The contexts of calls in flight, for cancellation. Shared with the calls, which may end later.
class Calls {
 public:
  // Returns false after Cancel().
  bool Add(grpc::ClientContext* context) {
    MutexLock lock(&mutex_);
    if (cancelled_) return false;
    contexts_.insert(context);
    return true;
  }
  // Call it before the context is destroyed.
  void Remove(grpc::ClientContext* context) {
    MutexLock lock(&mutex_);
    contexts_.erase(context);
  }
  // For calls with a callback: before the call starts, and after the callback has returned and is destroyed.
  void Began() {
    MutexLock lock(&mutex_);
    ++callbacks_;
  }
  void Ended() {
    MutexLock lock(&mutex_);
    if (--callbacks_ == 0) ended_.NotifyAll();
  }
  // Returns when no callback is running and none will run.
  void Cancel() {
    MutexLock lock(&mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();  // TryCancel only posts
    while (callbacks_ > 0) ended_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar ended_;
  int callbacks_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

class GrpcLink final : public CoordinatorLink {
 public:
  explicit GrpcLink(const std::string& address)
      : peer_(absl::StrCat("coordinator ", address)), stub_(v1::Coordinator::NewStub(MakeChannel(address))) {}
  ~GrpcLink() override { Cancel(); }

  void Register(const v1::RegisterWorkerRequest& request, Done<v1::RegisterWorkerReply> done) override {
    Begin(request, kShortCall, std::move(done),
          [this](auto&&... call) { stub_->async()->RegisterWorker(std::forward<decltype(call)>(call)...); });
  }
  void Heartbeat(const v1::HeartbeatRequest& request, Done<v1::HeartbeatReply> done) override {
    Begin(request, kShortCall, std::move(done),
          [this](auto&&... call) { stub_->async()->Heartbeat(std::forward<decltype(call)>(call)...); });
  }
  void Watch(const v1::WatchRequest& request, Done<v1::WatchReply> done) override {
    Begin(request, absl::Milliseconds(request.wait_ms()) + absl::Seconds(5), std::move(done),
          [this](auto&&... call) { stub_->async()->Watch(std::forward<decltype(call)>(call)...); });
  }
  void ReportTask(const v1::ReportTaskRequest& request, Done<v1::ReportTaskReply> done) override {
    Begin(request, kReportCall, std::move(done),
          [this](auto&&... call) { stub_->async()->ReportTask(std::forward<decltype(call)>(call)...); });
  }

  void ReportRecords(const v1::ReportRecordsRequest& request, Done<v1::ReportRecordsReply> done) override {
    Begin(request, kReportCall, std::move(done),
          [this](auto&&... call) { stub_->async()->ReportRecords(std::forward<decltype(call)>(call)...); });
  }

  void PutTrace(const v1::PutTraceRequest& request, Done<v1::PutTraceReply> done) override {
    Begin(request, kShortCall, std::move(done),
          [this](auto&&... call) { stub_->async()->PutTrace(std::forward<decltype(call)>(call)...); });
  }

  absl::Status PutIndex(uint64_t content_hash, std::string blob) override {
    v1::PutIndexRequest request;
    request.set_content_hash(content_hash);
    request.set_blob(std::move(blob));
    return Wait(&v1::Coordinator::Stub::PutIndex, request, kIndexCall).status();
  }
  absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest& request) override {
    return Wait(&v1::Coordinator::Stub::GetIndex, request, kIndexCall);
  }

  void Cancel() override { calls_->Cancel(); }

 private:
  absl::Status Stopping() const { return absl::CancelledError(absl::StrCat(peer_, ": this worker is stopping")); }

  template <typename Request, typename Reply, typename Start>
  void Begin(const Request& request, absl::Duration timeout, Done<Reply> done, Start start) {
    struct Call {
      grpc::ClientContext context;
      Request request;
      Reply reply;
    };
    auto call = std::make_shared<Call>();
    call->request = request;
    SetDeadline(&call->context, timeout);
    if (!calls_->Add(&call->context)) {
      done(Stopping());
      return;
    }
    calls_->Began();
    Call* const raw = call.get();
    std::function<void(grpc::Status)> finished = [call = std::move(call), calls = calls_, peer = peer_,
                                                  done = std::move(done)](const grpc::Status& status) mutable {
      calls->Remove(&call->context);
      if (status.ok()) {
        done(std::move(call->reply));
      } else {
        done(FromGrpc(status, peer));
      }
      done = nullptr;  // destroys its captures before Cancel returns
      calls->Ended();
    };
    start(&raw->context, &raw->request, &raw->reply, std::move(finished));
  }

  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Wait(grpc::Status (v1::Coordinator::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                           Reply*),
                             const Request& request, absl::Duration timeout) {
    grpc::ClientContext context;
    SetDeadline(&context, timeout);
    if (!calls_->Add(&context)) return Stopping();
    Reply reply;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &reply);
    calls_->Remove(&context);
    if (!status.ok()) return FromGrpc(status, peer_);
    return reply;
  }

  const std::string peer_;
  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  const std::shared_ptr<Calls> calls_ = std::make_shared<Calls>();
};

}  // namespace

std::unique_ptr<CoordinatorLink> ConnectToCoordinator(const std::string& address) {
  return std::make_unique<GrpcLink>(address);
}

}  // namespace penstock
