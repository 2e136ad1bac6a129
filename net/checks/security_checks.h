// Checks of certificates and tokens that a process uses. Each returns a finding without the name of the check, and
// without a secret.
#ifndef PENSTOCK_NET_CHECKS_SECURITY_CHECKS_H_
#define PENSTOCK_NET_CHECKS_SECURITY_CHECKS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "net/tls/certificates.h"
#include "penstock/v1/control.pb.h"

namespace penstock::net {

// Finds a certificate that expires within 14 days or within a quarter of its life, whichever is shorter, and
// authorities of which the last one expires within 14 days. `fault` is that of LiveCertificates: the files have a
// fault, and `certificates` are those from before.
v1::Finding CheckCertificates(const TlsFiles& files, const Certificates& certificates, const absl::Status& fault,
                              absl::Time now);

// `what` is a file that a process follows, with its path ("tokens file /etc/penstock/tokens"), and `fine` its content
// in words. `fault` is that of FollowedFile.
v1::Finding CheckFollowedFile(const std::string& what, const std::string& fine, const absl::Status& fault);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_CHECKS_SECURITY_CHECKS_H_
