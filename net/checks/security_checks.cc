#include "net/checks/security_checks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "net/checks/host_checks.h"

namespace penstock::net {
namespace {

constexpr absl::Duration kRenewBefore = absl::Hours(14 * 24);  // as the alert PenstockCertificateExpires

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone()); }

}  // namespace

v1::Finding CheckCertificates(const TlsFiles& files, const Certificates& certificates, const absl::Status& fault,
                              absl::Time now) {
  const std::string ends = files.cert.empty() ? "" : TimeText(certificates.expires);
  if (!fault.ok()) {
    return Fault(absl::StrCat(
        std::string(fault.message()), ". New connections use the pair from before",
        ends.empty() ? ""
                     : absl::StrCat(", which ", certificates.expires <= now ? "expired" : "expires", " on ", ends)));
  }
  if (!files.cert.empty()) {
    const absl::Duration life = certificates.expires - certificates.begins;
    if (certificates.expires - now < std::min(kRenewBefore, life / 4)) {
      return Fault(absl::StrCat("certificate ", files.cert, ": it expires on ", ends,
                                ". Put a new certificate and its key where the old ones are"));
    }
  }
  if (!files.ca.empty() && certificates.ca_expires - now < kRenewBefore) {
    return Fault(absl::StrCat("CA ", files.ca, ": its last authority expires on ", TimeText(certificates.ca_expires),
                              ". Add the next authority to the file on all hosts"));
  }
  std::string text;
  if (!files.cert.empty()) {
    text = absl::StrCat(files.cert, " is for ",
                        certificates.names.empty() ? "no name of a host" : absl::StrJoin(certificates.names, ", "),
                        ", and expires on ", ends);
  }
  if (!files.ca.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "peers are verified by ",
                    files.ca == "system" ? "the authorities of this host" : files.ca);
  }
  return Fine(std::move(text));
}

v1::Finding CheckFollowedFile(const std::string& what, const std::string& fine, const absl::Status& fault) {
  if (fault.ok()) return Fine(absl::StrCat(what, ": ", fine));
  return Fault(absl::StrCat(std::string(fault.message()), ". The content from before stays in use. Correct the file"));
}

}  // namespace penstock::net
