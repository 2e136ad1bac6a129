// A test's connection to a coordinator: the admin command's calls, and waits for their effects.
#ifndef PENSTOCK_TESTS_SUPPORT_CLUSTER_CONTROL_H_
#define PENSTOCK_TESTS_SUPPORT_CLUSTER_CONTROL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "net/tls/client_security.h"
#include "penstock/v1/control.grpc.pb.h"
#include "tests/support/wait_until.h"

namespace penstock::support {

class Control {
 public:
  explicit Control(const std::string& address, const net::ClientSecurity& security = {});

  absl::StatusOr<v1::StatusReply> Status();
  // Submits the job and waits until it is READY. Returns its error if it FAILED.
  absl::Status Submit(const v1::JobSpec& job, bool replace = false);
  // Submits the job and does not wait until it is READY.
  absl::Status BeginSubmit(const v1::JobSpec& job, bool replace = false);
  // Does the same as BeginSubmit. Returns the uid that the job has from the time when this submission is READY.
  absl::StatusOr<uint64_t> Register(const v1::JobSpec& job, bool replace = false);
  absl::Status Drain(const std::string& worker);
  absl::Status Cancel(const std::string& job);
  // Returns the job as trainers see it.
  absl::StatusOr<v1::Job> GetJob(const std::string& name);
  // Returns the bad records of the job. Expects that the job exists.
  v1::QuarantineReply Quarantine(const std::string& job);

  // Wait until exactly this number of workers are LIVE or own ranges of the job's view, or until a worker has this
  // state. Return false if that takes too long.
  bool WaitForLive(int workers);
  bool WaitForOwners(const std::string& job, int workers);
  bool WaitForState(const std::string& worker, v1::WorkerStatus::State state);

 private:
  // Prepares a call, with the token of `security`.
  void Prepare(grpc::ClientContext* context, absl::Duration timeout) const;

  const std::string address_;
  const net::ClientSecurity security_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_CONTROL_H_
