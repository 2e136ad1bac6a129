#include "net/checks/security_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "net/checks/host_checks.h"

namespace penstock::net {
namespace {

using ::testing::HasSubstr;

const absl::Time kCheckedAt = absl::FromUnixSeconds(1'780'000'000);  // in 2026
const TlsFiles kCheckedFiles = {"/tls/cert.pem", "/tls/key.pem", "/tls/ca.pem"};

Certificates Ending(absl::Duration life, absl::Duration left) {
  Certificates certificates;
  certificates.expires = kCheckedAt + left;
  certificates.begins = certificates.expires - life;
  certificates.names = {"w1.example", "10.0.0.7"};
  return certificates;
}

TEST(SecurityChecks, ACertificateIsNamedWithItsEnd) {
  const v1::Finding finding = CheckCertificates(kCheckedFiles, Ending(absl::Hours(24 * 365), absl::Hours(24 * 100)),
                                                absl::OkStatus(), kCheckedAt);
  EXPECT_FALSE(finding.fault());
  EXPECT_EQ(finding.message(),
            "/tls/cert.pem is for w1.example, 10.0.0.7, and expires on 2026-09-05 20:26 UTC; peers are verified by "
            "/tls/ca.pem");
}

TEST(SecurityChecks, ACertificateThatExpiresSoonIsAFault) {
  const auto fault = [](absl::Duration life, absl::Duration left) {
    return CheckCertificates(kCheckedFiles, Ending(life, left), absl::OkStatus(), kCheckedAt);
  };
  EXPECT_TRUE(fault(absl::Hours(24 * 365), absl::Hours(24 * 13)).fault());
  EXPECT_THAT(fault(absl::Hours(24 * 365), absl::Hours(24 * 13)).message(), HasSubstr("Put a new certificate"));
  EXPECT_FALSE(fault(absl::Hours(24), absl::Hours(8)).fault()) << "an issuer renews it at a third of its life";
  EXPECT_TRUE(fault(absl::Hours(24), absl::Hours(5)).fault());
}

TEST(SecurityChecks, AnAuthorityThatExpiresSoonIsAFault) {
  Certificates certificates = Ending(absl::Hours(24 * 365), absl::Hours(24 * 100));
  certificates.ca_expires = kCheckedAt + absl::Hours(24);
  const v1::Finding finding = CheckCertificates(kCheckedFiles, certificates, absl::OkStatus(), kCheckedAt);
  EXPECT_TRUE(finding.fault());
  EXPECT_THAT(finding.message(), HasSubstr("CA /tls/ca.pem: its last authority expires on "));
}

TEST(SecurityChecks, AFaultOfTheFilesNamesThePairInUse) {
  const absl::Status fault = absl::InvalidArgumentError("private key /tls/key.pem: it does not belong to the first");
  v1::Finding finding = CheckCertificates(kCheckedFiles, Ending(absl::Hours(24), absl::Hours(20)), fault, kCheckedAt);
  EXPECT_TRUE(finding.fault());
  EXPECT_THAT(finding.message(),
              HasSubstr("key.pem: it does not belong to the first. New connections use the pair from "
                        "before, which expires on "));
  finding = CheckCertificates(kCheckedFiles, Ending(absl::Hours(24), -absl::Hours(1)), fault, kCheckedAt);
  EXPECT_THAT(finding.message(), HasSubstr("which expired on "));
}

TEST(SecurityChecks, AFollowedFileWithAFaultKeepsItsContent) {
  EXPECT_FALSE(CheckFollowedFile("/etc/tokens", "3 lines are in use", absl::OkStatus()).fault());
  EXPECT_EQ(CheckFollowedFile("/etc/tokens", "3 lines are in use", absl::OkStatus()).message(),
            "/etc/tokens: 3 lines are in use");
  const v1::Finding finding =
      CheckFollowedFile("/etc/tokens", "", absl::InvalidArgumentError("tokens file /etc/tokens, line 2: no role"));
  EXPECT_TRUE(finding.fault());
  EXPECT_THAT(finding.message(), HasSubstr("line 2: no role. The content from before stays in use"));
}

}  // namespace
}  // namespace penstock::net
