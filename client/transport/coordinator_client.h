// The coordinator as a trainer sees it.
#ifndef PENSTOCK_CLIENT_TRANSPORT_COORDINATOR_CLIENT_H_
#define PENSTOCK_CLIENT_TRANSPORT_COORDINATOR_CLIENT_H_

#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"

namespace penstock::client {

// Each function starts an RPC and returns. The RPC ends within `timeout` and calls `done` exactly once, on any thread,
// possibly before the function returns. `done` must not block. Errors name the coordinator's address:
//   Unavailable        the coordinator cannot be reached
//   DeadlineExceeded   it did not answer in time
//   Cancelled          Cancel was called
//   others             its answer
// Thread-safe.
class CoordinatorClient {
 public:
  template <typename Reply>
  using Done = absl::AnyInvocable<void(absl::StatusOr<Reply>) &&>;

  virtual ~CoordinatorClient() = default;
  // Returns "the coordinator at host:port", for messages.
  virtual std::string name() const = 0;
  virtual void OpenSession(const v1::OpenSessionRequest& request, Nanos timeout, Done<v1::OpenSessionReply> done) = 0;
  virtual void Watch(const v1::WatchRequest& request, Nanos timeout, Done<v1::WatchReply> done) = 0;
  virtual void ReportSession(const v1::ReportSessionRequest& request, Nanos timeout,
                             Done<v1::ReportSessionReply> done) = 0;
  virtual void CloseSession(const v1::CloseSessionRequest& request, Nanos timeout,
                            Done<v1::CloseSessionReply> done) = 0;
  virtual void JudgeRecords(const v1::JudgeRecordsRequest& request, Nanos timeout, Done<v1::JudgeRecordsReply> done) {
    std::move(done)(absl::UnimplementedError("damaged records are not judged here"));
  }
  virtual void Explain(const v1::ExplainRequest& request, Nanos timeout, Done<v1::ExplainReply> done) {
    std::move(done)(absl::UnimplementedError("nothing is explained here"));
  }
  virtual void PutTrace(const v1::PutTraceRequest& request, Nanos timeout, Done<v1::PutTraceReply> done) {
    std::move(done)(absl::UnimplementedError("this coordinator client uploads no traces"));
  }
  // Ends the RPCs in flight, which call `done`. Later RPCs run as before.
  virtual void Cancel() = 0;
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_TRANSPORT_COORDINATOR_CLIENT_H_
