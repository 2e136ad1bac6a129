// The admin command's line to the coordinator.
#ifndef PENSTOCK_CLIENT_CLI_CONTROL_CLIENT_H_
#define PENSTOCK_CLIENT_CLI_CONTROL_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/flags.h"
#include "penstock/v1/control.grpc.pb.h"

namespace penstock::cli {

// --coordinator, else the environment's PENSTOCK_COORDINATOR, else localhost:7070.
class CoordinatorFlag {
 public:
  void AddTo(Flags* flags);
  std::string address() const;

 private:
  std::string address_;
};

// Blocking calls, each with a deadline of a few seconds (Watch: its wait and as much again). Unavailable names the
// address and the way out.
class ControlClient {
 public:
  // HOST or HOST:PORT; what is none is the error of every call.
  explicit ControlClient(const std::string& address);

  absl::StatusOr<v1::SubmitReply> Submit(const v1::SubmitRequest& request);
  absl::StatusOr<v1::CancelReply> Cancel(const v1::CancelRequest& request);
  absl::StatusOr<v1::DeleteReply> Delete(const v1::DeleteRequest& request);
  absl::StatusOr<v1::StatusReply> GetStatus();
  absl::StatusOr<v1::ListShardsReply> ListShards(const v1::ListShardsRequest& request);
  absl::StatusOr<v1::QuarantineReply> GetQuarantine(const v1::QuarantineRequest& request);
  absl::StatusOr<v1::ExplainReply> Explain(const v1::ExplainRequest& request);
  absl::StatusOr<v1::StartTraceReply> StartTrace(const v1::StartTraceRequest& request);
  absl::StatusOr<v1::GetTraceReply> GetTrace(const v1::GetTraceRequest& request);
  absl::StatusOr<v1::DrainReply> Drain(const v1::DrainRequest& request);
  absl::StatusOr<v1::WatchReply> Watch(const v1::WatchRequest& request);

 private:
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Ask(grpc::Status (v1::Coordinator::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                            const Request& request, absl::Duration timeout);

  std::string address_;
  absl::Status no_address_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
};

// Submits the job and waits until it is READY, with a progress bar; FailedPrecondition with the job's error when it
// FAILED, which says that the one it was to replace goes on. Cancelled: someone else has submitted it anew meanwhile.
// `quiet`: no bar. Where it was READY already it waits, for 20 s at most, until a worker has compared its files
// with what they were: job.files_look().
absl::StatusOr<v1::Job> SubmitAndWait(ControlClient& client, const v1::SubmitRequest& request, bool quiet);

// What is to be said of that comparison: which files have changed and what to do; "" where none has.
std::string FilesNote(const v1::Job& job);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_CONTROL_CLIENT_H_
