#include <gtest/gtest.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "net/coordinator_calls.h"
#include "penstock/v1/control.pb.h"
#include "server/common/rpc_gate.h"
#include "server/coordinator/service/coordinator.h"
#include "tests/support/temp_folder.h"

namespace penstock::coordinator {
namespace {

absl::Status GetStatus(net::CoordinatorCalls* calls) {
  return calls->Wait(&net::CoordinatorCalls::Rpcs::GetStatus, v1::StatusRequest(), absl::Seconds(60)).status();
}

TEST(InProcessCallTest, NeedsNoCertificateWhereCallsOverTheNetworkDo) {
  const support::TempFolder folder;
  CoordinatorOptions options;
  options.listen = "127.0.0.1:0";
  options.state_dir = folder.path();
  options.rule = server::RequireCertificate();
  const absl::StatusOr<std::unique_ptr<Coordinator>> coordinator = Coordinator::Start(options);
  ASSERT_TRUE(coordinator.ok()) << coordinator.status();
  net::CoordinatorCalls within((*coordinator)->ChannelInProcess(), "this process");
  EXPECT_EQ(GetStatus(&within), absl::OkStatus());
  net::CoordinatorCalls network({(*coordinator)->address()});
  EXPECT_EQ(GetStatus(&network).code(), absl::StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace penstock::coordinator
