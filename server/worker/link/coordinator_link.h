// The worker's calls to the coordinator.
#ifndef PENSTOCK_SERVER_WORKER_LINK_COORDINATOR_LINK_H_
#define PENSTOCK_SERVER_WORKER_LINK_COORDINATOR_LINK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/control.pb.h"

namespace penstock {

// Thread-safe; every call ends by a deadline of its own. After Cancel() running and later calls fail with Cancelled.
class CoordinatorLink {
 public:
  virtual ~CoordinatorLink() = default;
  virtual absl::StatusOr<v1::RegisterWorkerReply> Register(const v1::RegisterWorkerRequest& request) = 0;
  virtual absl::StatusOr<v1::HeartbeatReply> Heartbeat(const v1::HeartbeatRequest& request) = 0;
  virtual absl::StatusOr<v1::WatchReply> Watch(const v1::WatchRequest& request) = 0;
  virtual absl::StatusOr<v1::ReportTaskReply> ReportTask(const v1::ReportTaskRequest& request) = 0;
  virtual absl::Status PutIndex(uint64_t content_hash, std::string blob) = 0;
  virtual absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest& request) = 0;
  virtual void Cancel() = 0;
};

// Over gRPC, to the coordinator at host:port. Returns at once; errors begin with "coordinator host:port".
std::unique_ptr<CoordinatorLink> ConnectToCoordinator(const std::string& address);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_LINK_COORDINATOR_LINK_H_
