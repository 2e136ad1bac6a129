#include "client/transport/grpc_coordinator_client.h"

#include <utility>

#include "absl/time/time.h"

namespace penstock::client {

void GrpcCoordinatorClient::OpenSession(const v1::OpenSessionRequest& request, Nanos timeout,
                                        Done<v1::OpenSessionReply> done) {
  calls_.Start(&net::CoordinatorCalls::Rpcs::OpenSession, request, absl::Nanoseconds(timeout), std::move(done));
}

void GrpcCoordinatorClient::Watch(const v1::WatchRequest& request, Nanos timeout, Done<v1::WatchReply> done) {
  calls_.Start(&net::CoordinatorCalls::Rpcs::Watch, request, absl::Nanoseconds(timeout), std::move(done));
}

void GrpcCoordinatorClient::ReportSession(const v1::ReportSessionRequest& request, Nanos timeout,
                                          Done<v1::ReportSessionReply> done) {
  calls_.Start(&net::CoordinatorCalls::Rpcs::ReportSession, request, absl::Nanoseconds(timeout), std::move(done));
}

void GrpcCoordinatorClient::CloseSession(const v1::CloseSessionRequest& request, Nanos timeout,
                                         Done<v1::CloseSessionReply> done) {
  calls_.Start(&net::CoordinatorCalls::Rpcs::CloseSession, request, absl::Nanoseconds(timeout), std::move(done));
}

void GrpcCoordinatorClient::JudgeRecords(const v1::JudgeRecordsRequest& request, Nanos timeout,
                                         Done<v1::JudgeRecordsReply> done) {
  calls_.Start(&net::CoordinatorCalls::Rpcs::JudgeRecords, request, absl::Nanoseconds(timeout), std::move(done));
}

void GrpcCoordinatorClient::Explain(const v1::ExplainRequest& request, Nanos timeout, Done<v1::ExplainReply> done) {
  calls_.Start(&net::CoordinatorCalls::Rpcs::Explain, request, absl::Nanoseconds(timeout), std::move(done));
}

void GrpcCoordinatorClient::PutTrace(const v1::PutTraceRequest& request, Nanos timeout, Done<v1::PutTraceReply> done) {
  calls_.Start(&net::CoordinatorCalls::Rpcs::PutTrace, request, absl::Nanoseconds(timeout), std::move(done));
}

}  // namespace penstock::client
