#include "net/tls/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/time/time.h"
#include "base/file.h"
#include "tests/support/certificates/certificates.h"
#include "tests/support/temp_folder.h"

namespace penstock::net {
namespace {

using support::CertifiedKey;
using support::TestAuthority;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'780'000'000);  // in 2026

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() { WriteCertificates(folder_.path(), authority_, authority_.Issue()); }

  TlsFiles files() const { return {folder_.File("cert.pem"), folder_.File("key.pem"), folder_.File("ca.pem")}; }
  void Write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(WriteFileAtomically(folder_.File(name), content).ok());
  }
  std::string Fault(const TlsFiles& files, absl::Time now = kNow) {
    return std::string(ReadCertificates(files, now).status().message());
  }

  support::TempFolder folder_;
  TestAuthority authority_;
};

TEST_F(CertificatesTest, AreReadWithTheirNamesAndEnd) {
  const absl::Time ends = kNow + absl::Seconds(1000);
  const CertifiedKey issued =
      authority_.Issue({.names = {"DNS:w1.example", "DNS:*.pods.example", "IP:10.0.0.7"}, .ends = ends});
  WriteCertificates(folder_.path(), authority_, issued);
  const absl::StatusOr<Certificates> read = ReadCertificates(files(), kNow);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->cert, issued.cert);
  EXPECT_EQ(read->key, issued.key);
  EXPECT_EQ(read->ca, authority_.pem());
  EXPECT_EQ(read->expires, ends);
  EXPECT_THAT(read->names, ElementsAre("w1.example", "*.pods.example", "10.0.0.7"));
  EXPECT_TRUE(IsForHost(*read, "w1.example"));
  EXPECT_TRUE(IsForHost(*read, "W1.example"));
  EXPECT_TRUE(IsForHost(*read, "a.pods.example"));
  EXPECT_TRUE(IsForHost(*read, "10.0.0.7"));
  EXPECT_FALSE(IsForHost(*read, "a.b.pods.example"));
  EXPECT_FALSE(IsForHost(*read, "10.0.0.8"));
  EXPECT_FALSE(IsForHost(*read, "common name"));
}

TEST_F(CertificatesTest, EndWithTheFirstCertificateOfTheChainThatEnds) {
  const absl::Time soon = kNow + absl::Seconds(100);
  const CertifiedKey own = authority_.Issue();
  Write("cert.pem", own.cert + authority_.Issue({.ends = soon}).cert);
  Write("key.pem", own.key);
  EXPECT_EQ(ReadCertificates(files(), kNow)->expires, soon);
}

TEST_F(CertificatesTest, AKeyOfAnotherCertificateIsRejected) {
  Write("key.pem", authority_.Issue().key);
  EXPECT_THAT(Fault(files()), HasSubstr("key.pem: it does not belong to the first certificate in "));
}

TEST_F(CertificatesTest, AnExpiredOrFutureCertificateIsRejectedWithItsDate) {
  EXPECT_THAT(Fault(files(), absl::FromUnixSeconds(4'102'444'800)),
              HasSubstr("cert.pem: it expired on 2100-01-01 00:00 UTC; renew it"));
  EXPECT_THAT(Fault(files(), absl::FromUnixSeconds(1'577'836'799)),
              HasSubstr("cert.pem: it is not valid before 2020-01-01 00:00 UTC"));
}

TEST_F(CertificatesTest, FilesThatAreNoPemAreNamed) {
  for (const std::string& bad : {std::string("no PEM"), std::string(), std::string(1000, '\0')}) {
    Write("cert.pem", bad);
    EXPECT_THAT(Fault(files()), HasSubstr("cert.pem: it is no PEM file with certificates"));
    WriteCertificates(folder_.path(), authority_, authority_.Issue());
    Write("key.pem", bad);
    EXPECT_THAT(Fault(files()), HasSubstr("key.pem: it is no PEM file with a private key"));
    WriteCertificates(folder_.path(), authority_, authority_.Issue());
    Write("ca.pem", bad);
    EXPECT_THAT(Fault(files()), HasSubstr("ca.pem: it is no PEM file with certificates"));
    WriteCertificates(folder_.path(), authority_, authority_.Issue());
  }
}

TEST_F(CertificatesTest, ACertificateCutInHalfIsRejected) {
  const std::string whole = authority_.Issue().cert;
  Write("cert.pem", authority_.Issue().cert + whole.substr(0, whole.size() / 2));
  EXPECT_THAT(Fault(files()), HasSubstr("cert.pem: it is no PEM file"));
}

TEST_F(CertificatesTest, AMissingFileIsNamedWithItsUse) {
  std::filesystem::remove(folder_.File("key.pem"));
  EXPECT_THAT(Fault(files()), HasSubstr("private key "));
  EXPECT_THAT(Fault(files()), HasSubstr("key.pem"));
  EXPECT_EQ(ReadCertificates(files(), kNow).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CertificatesTest, ACertificateNeedsItsKeyAndAKeyItsCertificate) {
  EXPECT_THAT(Fault({folder_.File("cert.pem"), "", ""}), HasSubstr("--tls-key"));
  EXPECT_THAT(Fault({"", folder_.File("key.pem"), ""}), HasSubstr("--tls-cert"));
  EXPECT_EQ(Fault({"", "", folder_.File("ca.pem")}), "");
}

TEST_F(CertificatesTest, AnEncryptedKeyIsRejectedWithoutAQuestion) {
  Write("key.pem",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
        "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAguN1gAzBvTQAICCAAw\n"
        "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEM5OH5nFzBQZ9vcQ9jD5qbQEgZBr\n"
        "-----END ENCRYPTED PRIVATE KEY-----\n");
  EXPECT_THAT(Fault(files()), HasSubstr("key.pem: it "));
}

}  // namespace
}  // namespace penstock::net
