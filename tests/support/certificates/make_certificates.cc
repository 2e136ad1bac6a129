// make_certificates FOLDER NAME ...
//
// For tests in other languages: makes a new authority, and a certificate of it for each NAME. Writes FOLDER/ca.pem, and
// NAME.pem with NAME.key, for localhost, 127.0.0.1 and NAME.example. The folder must exist; existing files are replaced
// atomically.
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "base/file.h"
#include "tests/support/certificates/certificates.h"

int main(int argc, char** argv) {
  using penstock::WriteFileAtomically;
  if (argc < 2) {
    std::fprintf(stderr, "usage: make_certificates FOLDER NAME ...\n");
    return 2;
  }
  const std::string folder = argv[1];
  const penstock::support::TestAuthority authority;
  absl::Status status = WriteFileAtomically(folder + "/ca.pem", authority.pem());
  for (int i = 2; i < argc; ++i) {
    const std::string path = folder + "/" + argv[i];
    const penstock::support::CertifiedKey certified =
        authority.Issue({.names = {"DNS:localhost", "IP:127.0.0.1", std::string("DNS:") + argv[i] + ".example"}});
    status.Update(WriteFileAtomically(path + ".pem", certified.cert));
    status.Update(WriteFileAtomically(path + ".key", certified.key));
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "make_certificates: %s\n", std::string(status.message()).c_str());
  return 1;
}
