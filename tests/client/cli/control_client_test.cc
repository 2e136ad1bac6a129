#include "client/cli/control_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/version.h"
#include "config/flags.h"
#include "net/protocols_proto.h"
#include "tests/support/cluster/status_server.h"

namespace penstock::cli {
namespace {

using ::testing::HasSubstr;

absl::Status PauseAt(const v1::StatusReply& status) {
  const support::StatusServer server(status);  // lacks all other calls
  CoordinatorFlags coordinator;
  config::Flags flags;
  coordinator.AddTo(&flags);
  EXPECT_TRUE(flags.Parse({"--coordinator", server.address()}).ok());
  return ControlClient(coordinator).Pause(v1::PauseRequest()).status();
}

TEST(ControlClient, ACallThatAnOlderCoordinatorLacksNamesBothReleases) {
  v1::StatusReply status;
  status.set_version("0.3.0");
  *status.mutable_protocols() = net::ToProto({1, 1});
  const absl::Status error = PauseAt(status);
  EXPECT_TRUE(absl::IsUnimplemented(error));
  EXPECT_THAT(error.message(), HasSubstr(" is penstock 0.3.0 with protocol 1, which lacks this call"));
  EXPECT_THAT(error.message(), HasSubstr(ThisRelease().ToString() + ": upgrade the coordinator"));
}

TEST(ControlClient, ACallThatThisReleaseLacksNamesNoOtherRelease) {
  v1::StatusReply status;
  status.set_version(std::string(Version()));
  *status.mutable_protocols() = net::ToProto(kProtocols);
  EXPECT_THAT(PauseAt(status).message(), HasSubstr("it answers, but does not know this call"));
}

}  // namespace
}  // namespace penstock::cli
