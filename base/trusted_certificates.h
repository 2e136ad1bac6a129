// The certificate authorities that this host trusts.
#ifndef PENSTOCK_BASE_TRUSTED_CERTIFICATES_H_
#define PENSTOCK_BASE_TRUSTED_CERTIFICATES_H_

#include <string>

namespace penstock {

// Returns the path of the host's certificates of authorities, in PEM, or "" if the host has none. It is the value of
// CURL_CA_BUNDLE or SSL_CERT_FILE, or the file of Debian, Red Hat, SUSE or Alpine. A library that was built on another
// machine knows only the path on that machine. Searches once, in the first call. Thread-safe.
const std::string& TrustedCertificatesFile();

}  // namespace penstock

#endif  // PENSTOCK_BASE_TRUSTED_CERTIFICATES_H_
