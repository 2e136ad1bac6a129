#include "server/worker/worker_checks.h"

#include <sys/stat.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "net/checks/host_checks.h"
#include "server/self_checks/folder_checks.h"
#include "server/self_checks/process_checks.h"
#include "transport/shared_memory/local_address.h"

namespace penstock::worker {

v1::Finding CheckSocket(const std::string& local, const std::string& why_none) {
  const std::optional<transport::LocalAddress> address = transport::LocalAddress::Parse(local);
  if (!address.has_value()) {
    return why_none.empty() ? net::Fine("turned off by --socket-dir ''")
                            : net::Fault(absl::StrCat(why_none, ". Correct that, or name another --socket-dir"));
  }
  struct stat info {};
  if (stat(address->path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return net::Fault(absl::StrCat("the socket ", address->path,
                                   " is gone. Restart the worker, and keep other programs from removing files there"));
  }
  return net::Fine(absl::StrCat("clients of this host connect to ", address->path));
}

std::vector<server::SelfCheck> ChecksOf(const WorkerOptions& options, const std::string& local,
                                        const std::string& why_none) {
  std::vector<server::SelfCheck> checks = options.checks;
  checks.push_back(server::GroupLimitsCheck(options.host.loader.memory_budget_bytes));
  checks.push_back({"shared memory", [local, why_none] { return CheckSocket(local, why_none); }});
  checks.push_back(server::WritableFolderCheck("state directory", options.state_dir));
  if (const std::string& folder = options.host.disk_cache.folder; !folder.empty()) {
    checks.push_back(server::WritableFolderCheck("disk cache", folder));
  }
  for (server::SelfCheck& check : server::DataRootChecks(options.host.storage, options.roots)) {
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace penstock::worker
