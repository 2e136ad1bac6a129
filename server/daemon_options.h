// penstockd's command line. Flags override the configuration file, which overrides defaults.
#ifndef PENSTOCK_SERVER_DAEMON_OPTIONS_H_
#define PENSTOCK_SERVER_DAEMON_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/cgroup.h"
#include "config/daemon_config.h"
#include "config/manual/program_text.h"
#include "penstock/v1/config.pb.h"
#include "pipeline/sources/dataset_files.h"

namespace penstock::server {

struct DaemonOptions {
  config::DaemonRole role = config::DaemonRole::kStandalone;
  v1::DaemonConfig config;  // complete
  std::vector<sources::DataRoot> roots;
  std::string port_file;
  std::string memory_budget_source;   // origin of the memory budget
  std::vector<std::string> warnings;  // about the configuration file, to be logged
  // Whether the user set the size of the cache. The worker may choose the other sizes.
  bool record_cache_pinned = false, decoded_cache_pinned = false, row_cache_pinned = false;
};

// Parses `arguments`, which exclude the program's name. InvalidArgument names the mistake. Returns errors of the
// configuration file and of data roots unchanged. If the memory budget is not set, derives it from `memory`.
absl::StatusOr<DaemonOptions> ParseDaemonCommandLine(const std::vector<std::string>& arguments,
                                                     const MemoryLimit& memory = AvailableMemory());

// Returns the settings in use as text, without secrets, for support files: it has the paths of key files, not their
// contents, and URLs without passwords and signatures.
std::string ConfigurationForSupport(const DaemonOptions& options);

// Returns the help text of one role ("worker"), or of all ("").
std::string DaemonHelp(const std::string& role);

// Returns the roles and flags of penstockd, for its man page and completions.
config::ProgramText DaemonProgramText(const std::string& version);

// Returns the default state folder. It follows from the first variable that is set: the first folder of
// $STATE_DIRECTORY (systemd), $XDG_STATE_HOME/penstock, $HOME/.local/state/penstock. Without these it is
// /var/lib/penstock.
std::string DefaultStateDir();

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_DAEMON_OPTIONS_H_
