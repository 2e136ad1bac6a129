#include "net/tls/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/time/clock.h"
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

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() { WriteCertificates(folder_.path(), authority_, authority_.Issue()); }

  TlsFiles files() const { return {folder_.File("cert.pem"), folder_.File("key.pem"), folder_.File("ca.pem")}; }
  void Write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(WriteFileAtomically(folder_.File(name), content).ok());
  }
  std::string Fault(const TlsFiles& files, absl::Time now = absl::Now()) {
    return std::string(ReadCertificates(files, now).status().message());
  }

  support::TempFolder folder_;
  TestAuthority authority_;
};

TEST_F(CertificatesTest, AreReadWithTheirNamesAndEnd) {
  const absl::Time ends = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()) + 1000);
  const CertifiedKey issued =
      authority_.Issue({.names = {"DNS:w1.example", "DNS:*.pods.example", "IP:10.0.0.7"}, .ends = ends});
  WriteCertificates(folder_.path(), authority_, issued);
  const absl::StatusOr<Certificates> read = ReadCertificates(files(), absl::Now());
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
  const absl::Time soon = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()) + 100);
  const CertifiedKey own = authority_.Issue();
  Write("cert.pem", own.cert + authority_.Issue({.ends = soon}).cert);
  Write("key.pem", own.key);
  EXPECT_EQ(ReadCertificates(files(), absl::Now())->expires, soon);
}

TEST_F(CertificatesTest, AKeyOfAnotherCertificateIsRejected) {
  Write("key.pem", authority_.Issue().key);
  EXPECT_THAT(Fault(files()), HasSubstr("key.pem: it does not belong to the first certificate in "));
}

TEST_F(CertificatesTest, AnExpiredOrFutureCertificateIsRejectedWithItsDate) {
  const absl::Time now = absl::Now();
  EXPECT_THAT(Fault(files(), now + absl::Hours(48)), HasSubstr("cert.pem: it expired on 20"));
  EXPECT_THAT(Fault(files(), now - absl::Hours(48)), HasSubstr("cert.pem: it is not valid before 20"));
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
  EXPECT_EQ(ReadCertificates(files(), absl::Now()).status().code(), absl::StatusCode::kNotFound);
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
