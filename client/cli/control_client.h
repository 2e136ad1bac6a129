// The admin command's connection to the coordinator.
#ifndef PENSTOCK_CLIENT_CLI_CONTROL_CLIENT_H_
#define PENSTOCK_CLIENT_CLI_CONTROL_CLIENT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "config/flags.h"
#include "net/coordinator_calls.h"
#include "net/tls/certificates.h"
#include "penstock/v1/control.pb.h"

namespace penstock::cli {

// The flags --coordinator, --tls-ca, --tls-cert, --tls-key and --token-file. Their defaults are the environment's
// PENSTOCK_COORDINATOR, otherwise localhost:7070, and PENSTOCK_TLS_CA, _CERT, _KEY and PENSTOCK_TOKEN_FILE.
class CoordinatorFlags {
 public:
  void AddTo(config::Flags* flags);
  std::string address() const;
  // Return the flags' paths, without the environment's.
  const net::TlsFiles& tls() const { return tls_; }
  const std::string& token_file() const { return token_file_; }

 private:
  std::string address_;
  net::TlsFiles tls_;
  std::string token_file_;
};

// Blocking calls. The errors Unavailable and DeadlineExceeded name the address and the remedy. Unimplemented names the
// coordinator's release if that is older than this one.
class ControlClient {
 public:
  // If the address is not HOST or HOST:PORT, or a file for TLS or the token is unusable, every call returns the error.
  // Each call ends within `call_timeout`, and Watch within the sum of `call_timeout` and the requested wait. A call
  // that returns Unimplemented may take `call_timeout` longer.
  explicit ControlClient(const CoordinatorFlags& coordinator, absl::Duration call_timeout = absl::Seconds(10));

  absl::StatusOr<v1::SubmitReply> Submit(const v1::SubmitRequest& request);
  absl::StatusOr<v1::CancelReply> Cancel(const v1::CancelRequest& request);
  absl::StatusOr<v1::DeleteReply> Delete(const v1::DeleteRequest& request);
  absl::StatusOr<v1::PurgeReply> Purge(const v1::PurgeRequest& request);
  absl::StatusOr<v1::PauseReply> Pause(const v1::PauseRequest& request);
  absl::StatusOr<v1::ResumeReply> Resume(const v1::ResumeRequest& request);
  // Returns the status of all jobs and workers, or of `job` alone. NotFound: there is no such job.
  absl::StatusOr<v1::StatusReply> GetStatus(const std::string& job = "");
  absl::StatusOr<v1::ListShardsReply> ListShards(const v1::ListShardsRequest& request);
  absl::StatusOr<v1::QuarantineReply> GetQuarantine(const v1::QuarantineRequest& request);
  absl::StatusOr<v1::DescribeReply> Describe(const v1::DescribeRequest& request);
  absl::StatusOr<v1::ExplainReply> Explain(const v1::ExplainRequest& request);
  absl::StatusOr<v1::StartTraceReply> StartTrace(const v1::StartTraceRequest& request);
  absl::StatusOr<v1::GetTraceReply> GetTrace(const v1::GetTraceRequest& request);
  absl::StatusOr<v1::StartSupportReply> StartSupport();
  absl::StatusOr<v1::GetSupportReply> GetSupport(const v1::GetSupportRequest& request);
  absl::StatusOr<v1::DrainReply> Drain(const v1::DrainRequest& request);
  absl::StatusOr<v1::RevokeReply> Revoke(const v1::RevokeRequest& request);
  absl::StatusOr<v1::WatchReply> Watch(const v1::WatchRequest& request);

 private:
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Ask(net::CoordinatorCalls::Rpc<Request, Reply> rpc, const Request& request,
                            absl::Duration timeout);
  absl::Status ErrorOfUnknownCall(const absl::Status& error);

  const absl::Duration call_timeout_;
  std::string address_;
  absl::Status unusable_;  // error of the flags
  std::optional<net::CoordinatorCalls> calls_;
};

// Submits the job and waits until it is READY, with a progress bar unless `quiet`. If the job was READY already, waits
// at most 20 s until a worker has compared its files with their previous state, and stores the result in
// job.files_look().
//   FailedPrecondition   the job FAILED; has the job's error, and whether the job that it was to replace continues
//   Cancelled            another client cancelled or resubmitted the job meanwhile
absl::StatusOr<v1::Job> SubmitAndWait(ControlClient& client, const v1::SubmitRequest& request, bool quiet);

// Returns a report of that comparison: the changed files and the remedy, or why the comparison failed. Returns "" if no
// file has changed.
std::string FilesNote(const v1::Job& job);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_CONTROL_CLIENT_H_
