#include "server/worker/link/coordinator_link.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "net/coordinator_calls.h"

namespace penstock::worker {
namespace {

constexpr absl::Duration kShortCall = absl::Seconds(2);  // a heartbeat that takes longer has no value
constexpr absl::Duration kReportCall = absl::Seconds(10);
// Blobs have a few MiB. Without a blob the worker scans the shard.
constexpr absl::Duration kIndexCall = absl::Seconds(5);

class GrpcLink final : public CoordinatorLink {
 public:
  GrpcLink(const std::string& address, net::ClientSecurity security)
      : address_(address), calls_({address}, &net::CoordinatorCalls::NamedError, std::move(security)) {}
  GrpcLink(const std::shared_ptr<grpc::Channel>& channel, const std::string& name)
      : address_(name), calls_(channel, name) {}
  ~GrpcLink() override { Cancel(); }

  void Register(const v1::RegisterWorkerRequest& request, Done<v1::RegisterWorkerReply> done) override {
    calls_.Start(&Rpcs::RegisterWorker, request, kShortCall, std::move(done));
  }
  void Heartbeat(const v1::HeartbeatRequest& request, Done<v1::HeartbeatReply> done) override {
    calls_.Start(&Rpcs::Heartbeat, request, kShortCall, std::move(done));
  }
  void Watch(const v1::WatchRequest& request, Done<v1::WatchReply> done) override {
    calls_.Start(&Rpcs::Watch, request, absl::Milliseconds(request.wait_ms()) + absl::Seconds(5), std::move(done));
  }
  void ReportTask(const v1::ReportTaskRequest& request, Done<v1::ReportTaskReply> done) override {
    calls_.Start(&Rpcs::ReportTask, request, kReportCall, std::move(done));
  }
  void ReportRecords(const v1::ReportRecordsRequest& request, Done<v1::ReportRecordsReply> done) override {
    calls_.Start(&Rpcs::ReportRecords, request, kReportCall, std::move(done));
  }
  void PutTrace(const v1::PutTraceRequest& request, Done<v1::PutTraceReply> done) override {
    calls_.Start(&Rpcs::PutTrace, request, kShortCall, std::move(done));
  }

  void PutSupport(const v1::PutSupportRequest& request, Done<v1::PutSupportReply> done) override {
    calls_.Start(&Rpcs::PutSupport, request, kReportCall, std::move(done));
  }

  absl::Status PutIndex(uint64_t content_hash, std::string blob) override {
    v1::PutIndexRequest request;
    request.set_content_hash(content_hash);
    request.set_blob(std::move(blob));
    return calls_.Wait(&Rpcs::PutIndex, request, kIndexCall).status();
  }
  absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest& request) override {
    return calls_.Wait(&Rpcs::GetIndex, request, kIndexCall);
  }

  void Cancel() override {
    calls_.Stop(absl::CancelledError(absl::StrCat("coordinator ", address_, ": this worker is stopping")));
  }

 private:
  using Rpcs = net::CoordinatorCalls::Rpcs;

  const std::string address_;
  net::CoordinatorCalls calls_;
};

}  // namespace

std::unique_ptr<CoordinatorLink> ConnectToCoordinator(const std::string& address, net::ClientSecurity security) {
  return std::make_unique<GrpcLink>(address, std::move(security));
}

std::unique_ptr<CoordinatorLink> LinkToCoordinator(const std::shared_ptr<grpc::Channel>& channel,
                                                   const std::string& name) {
  return std::make_unique<GrpcLink>(channel, name);
}

}  // namespace penstock::worker
