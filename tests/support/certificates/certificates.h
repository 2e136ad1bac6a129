// Certificates for tests: an authority, and the certificates that it signs.
#ifndef PENSTOCK_TESTS_SUPPORT_CERTIFICATES_CERTIFICATES_H_
#define PENSTOCK_TESTS_SUPPORT_CERTIFICATES_CERTIFICATES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace penstock::support {

// A certificate and its key, in PEM.
struct CertifiedKey {
  std::string cert, key;
};

// The variable content of a certificate.
struct CertificateText {
  std::vector<std::string> names = {"DNS:localhost", "IP:127.0.0.1"};  // alternative names in OpenSSL's form
  absl::Time begins = absl::Now() - absl::Hours(1);
  absl::Time ends = absl::Now() + absl::Hours(24);
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
