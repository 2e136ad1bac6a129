// The worker's calls to the coordinator.
#ifndef PENSTOCK_SERVER_WORKER_LINK_COORDINATOR_LINK_H_
#define PENSTOCK_SERVER_WORKER_LINK_COORDINATOR_LINK_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "net/channel.h"
#include "penstock/v1/control.pb.h"

namespace penstock::worker {

// Thread-safe. Each call has its own deadline. After Cancel(), calls in flight and later calls fail with Cancelled.
// Cancel() returns when no `done` is running; objects that `done` uses may then be destroyed. Must not be called inside
// a `done`.
class CoordinatorLink {
 public:
  virtual ~CoordinatorLink() = default;

  // These functions return at once. `done` is called once, on any thread, possibly before they return. It must not
  // block.
  template <typename Reply>
  using Done = std::function<void(absl::StatusOr<Reply>)>;
  virtual void Register(const v1::RegisterWorkerRequest& request, Done<v1::RegisterWorkerReply> done) = 0;
  virtual void Heartbeat(const v1::HeartbeatRequest& request, Done<v1::HeartbeatReply> done) = 0;
  virtual void Watch(const v1::WatchRequest& request, Done<v1::WatchReply> done) = 0;
  virtual void PutTrace(const v1::PutTraceRequest& request, Done<v1::PutTraceReply> done) {
    done(absl::UnimplementedError("this link uploads no traces"));
  }
  virtual void PutSupport(const v1::PutSupportRequest& request, Done<v1::PutSupportReply> done) {
    done(absl::UnimplementedError("this link uploads no support files"));
  }
  virtual void ReportTask(const v1::ReportTaskRequest& request, Done<v1::ReportTaskReply> done) = 0;
  virtual void ReportRecords(const v1::ReportRecordsRequest& request, Done<v1::ReportRecordsReply> done) {
    done(absl::UnimplementedError("this coordinator takes no reports of records"));
  }

  // These functions block until the answer arrives. Call them in tasks of a pool.
  virtual absl::Status PutIndex(uint64_t content_hash, std::string blob) = 0;
  virtual absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest& request) = 0;

  virtual void Cancel() = 0;
};

// Returns a link over gRPC to the coordinator at host:port. Returns at once. Errors begin with "coordinator host:port".
std::unique_ptr<CoordinatorLink> ConnectToCoordinator(const std::string& address, net::ClientSecurity security = {});

// Returns a link over `channel`. Errors begin with "coordinator " and `name`.
std::unique_ptr<CoordinatorLink> LinkToCoordinator(const std::shared_ptr<grpc::Channel>& channel,
                                                   const std::string& name);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_LINK_COORDINATOR_LINK_H_
