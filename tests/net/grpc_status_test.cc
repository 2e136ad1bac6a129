#include "net/grpc_status.h"

#include <gtest/gtest.h>

namespace penstock::net {
namespace {

TEST(GrpcStatus, GoesThereAndBack) {
  EXPECT_TRUE(FromGrpc(ToGrpc(absl::OkStatus())).ok());
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
  }
}

TEST(GrpcStatus, NamesThePeer) {
  const absl::Status status = FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone"), "worker w1");
  EXPECT_EQ(status, absl::UnavailableError("worker w1: gone"));
  EXPECT_TRUE(FromGrpc(grpc::Status::OK, "worker w1").ok());
}

TEST(GrpcStatus, CutsEndlessMessages) {
  const grpc::Status status = ToGrpc(absl::InternalError(std::string(100000, 'x')));
  EXPECT_EQ(status.error_message().size(), 8192u);
}

TEST(GrpcStatus, TakesUnknownCodes) {
  EXPECT_EQ(FromGrpc(grpc::Status(static_cast<grpc::StatusCode>(20), "x")).code(), absl::StatusCode::kUnknown);
}

// gRPC has an empty message for a call that the other side does not implement.
TEST(GrpcStatus, ACallThatNobodyKnowsIsSaidToBeSo) {
  const absl::Status status = FromGrpc(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, ""));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "it answers, but does not know this call: a worker's address in the place of the coordinator's, or another "
            "program");
}

}  // namespace
}  // namespace penstock::net
