// The checks that a daemon of any role makes of its process.
#ifndef PENSTOCK_SERVER_SELF_CHECKS_PROCESS_CHECKS_H_
#define PENSTOCK_SERVER_SELF_CHECKS_PROCESS_CHECKS_H_

#include <memory>
#include <string>
#include <vector>

#include "net/access/token.h"
#include "net/tls/live_certificates.h"
#include "server/common/rpc_roles.h"
#include "server/self_checks/self_checks.h"

namespace penstock::server {

// Files that the process follows. Null pointers: it has none.
struct FollowedFiles {
  std::shared_ptr<const net::LiveCertificates> certificates;
  std::string tokens_path;
  std::shared_ptr<const LiveAccessList> access;
  std::string token_path;
  std::shared_ptr<const net::LiveToken> token;
};

// Returns checks of these files, of open files and of socket buffers.
std::vector<SelfCheck> ProcessChecks(const FollowedFiles& files);

// Returns the check of the memory and threads that the control groups allow. `budget`: --memory-budget, or 0.
SelfCheck GroupLimitsCheck(uint64_t budget);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_SELF_CHECKS_PROCESS_CHECKS_H_
