#include "net/tls/handshake_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_mark.h"

namespace penstock::net {
namespace {

using ::testing::HasSubstr;

TEST(ExplainHandshake, NamesTheMissingFlagOfAPlaintextClient) {
  const absl::Status told = ExplainHandshake(absl::UnavailableError("ipv4:127.0.0.1:7070: Socket closed"), {});
  EXPECT_TRUE(absl::IsUnavailable(told));
  EXPECT_TRUE(HasMark(told, kHandshakeFault));
  EXPECT_THAT(std::string(told.message()), HasSubstr("--tls-ca"));
}

TEST(ExplainHandshake, LeavesOtherErrorsAlone) {
  for (const absl::Status& error :
       {absl::UnavailableError("Connection refused"), absl::InternalError("Socket closed"), absl::OkStatus()}) {
    EXPECT_EQ(ExplainHandshake(error, {}), error);
  }
}

TEST(ExplainHandshakeLog, SpeaksOnlyOfHandshakes) {
  EXPECT_EQ(ExplainHandshakeLog("assertion failed: x"), "");
  EXPECT_THAT(ExplainHandshakeLog("Handshake failed with fatal error SSL_ERROR_SSL: error:0A00010B:SSL "
                                  "routines::wrong version number."),
              HasSubstr("--tls-ca"));
  EXPECT_NE(ExplainHandshakeLog("Handshake failed with fatal error SSL_ERROR_SSL: of the future"), "");
}

}  // namespace
}  // namespace penstock::net
