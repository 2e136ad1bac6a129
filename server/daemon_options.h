// penstockd's command line: flags over the configuration file over defaults.
#ifndef PENSTOCK_SERVER_DAEMON_OPTIONS_H_
#define PENSTOCK_SERVER_DAEMON_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/daemon_config.h"
#include "penstock/v1/config.pb.h"
#include "pipeline/records/dataset_files.h"

namespace penstock {

struct DaemonOptions {
  DaemonRole role = DaemonRole::kStandalone;
  v1::DaemonConfig config;  // complete
  std::vector<DataRoot> roots;
  std::string port_file;
  // Sizes that somebody has set, which stay: the others may be chosen by the worker.
  bool record_cache_pinned = false, decoded_cache_pinned = false, row_cache_pinned = false;
};

// `arguments`: without the program's name. InvalidArgument names what is wrong on the command line; errors of the
// configuration file and of data roots are theirs.
absl::StatusOr<DaemonOptions> ParseDaemonCommandLine(const std::vector<std::string>& arguments);

// The help text; of one role ("worker"), or of all ("").
std::string DaemonHelp(const std::string& role);

// Where state is kept unless said: $STATE_DIRECTORY (systemd), $XDG_STATE_HOME/penstock, ~/.local/state/penstock.
std::string DefaultStateDir();

}  // namespace penstock

#endif  // PENSTOCK_SERVER_DAEMON_OPTIONS_H_
