#include "server/self_checks/process_checks.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "net/checks/host_checks.h"
#include "net/checks/security_checks.h"

namespace penstock::server {
namespace {

// Memory of a daemon besides its budget, as in the default of limits.memory_bytes.
constexpr uint64_t kOtherMemory = uint64_t{256} << 20;

}  // namespace

std::vector<SelfCheck> ProcessChecks(const FollowedFiles& files) {
  std::vector<SelfCheck> checks;
  if (const auto& live = files.certificates; live != nullptr) {
    checks.push_back({net::kCertificateCheck, [live] {
                        return net::CheckCertificates(live->files(), *live->current(), live->fault(), absl::Now());
                      }});
  }
  if (const auto& list = files.access; list != nullptr) {
    checks.push_back({"tokens file", [list, path = files.tokens_path] {
                        return net::CheckFollowedFile(path, absl::StrCat(list->current()->size(), " lines are in use"),
                                                      list->fault());
                      }});
  }
  if (const auto& token = files.token; token != nullptr) {
    checks.push_back({net::kTokenCheck, [token, path = files.token_path] {
                        return net::CheckFollowedFile(path, "its token is in use", token->fault());
                      }});
  }
  checks.push_back({net::kOpenFilesCheck, [] { return net::CheckOpenFiles(); }});
  checks.push_back({net::kSocketBuffersCheck, [] { return net::CheckSocketBuffers(); }});
  return checks;
}

SelfCheck GroupLimitsCheck(uint64_t budget) {
  return {net::kLimitsCheck,
          [budget] { return net::CheckGroupLimits(net::GroupLimits::OfThisProcess(), budget + kOtherMemory, budget); }};
}

}  // namespace penstock::server
