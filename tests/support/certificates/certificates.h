// Certificates for tests: an authority, and the certificates that it signs.
#ifndef PENSTOCK_TESTS_SUPPORT_CERTIFICATES_CERTIFICATES_H_
#define PENSTOCK_TESTS_SUPPORT_CERTIFICATES_CERTIFICATES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace penstock::support {

// A certificate and its key, in PEM.
struct CertifiedKey {
  std::string cert, key;
};

// The variable content of a certificate.
struct CertificateText {
  std::vector<std::string> names = {"DNS:localhost", "IP:127.0.0.1"};  // alternative names in OpenSSL's form
  // By default, every test runs within the time of the certificate.
  absl::Time begins = absl::FromUnixSeconds(1'577'836'800);  // 2020
  absl::Time ends = absl::FromUnixSeconds(4'102'444'800);    // 2100
};

class TestAuthority {
 public:
  // Makes an authority with a new key.
  TestAuthority();
  ~TestAuthority();

  const std::string& pem() const { return pem_; }
  // Signs a certificate for a new key.
  CertifiedKey Issue(const CertificateText& text = {}) const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
  std::string pem_;
};

// Writes ca.pem, cert.pem and key.pem to `folder`, which must exist.
void WriteCertificates(const std::string& folder, const TestAuthority& authority, const CertifiedKey& certified);

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CERTIFICATES_CERTIFICATES_H_
