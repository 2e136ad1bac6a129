// The daemon's configuration: its file, checks, and defaults. Flags override the file; the whole is checked before the
// defaults fill the unset fields.
#ifndef PENSTOCK_CONFIG_DAEMON_CONFIG_H_
#define PENSTOCK_CONFIG_DAEMON_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/cgroup.h"
#include "config/text_file.h"
#include "penstock/v1/config.pb.h"

namespace penstock::config {

// Maximum number of threads that only read, for a worker and for `penstock bench`.
inline constexpr uint32_t kMaxReadThreads = 512;

// Maximum number of connections of a stream to another host.
inline constexpr uint32_t kMaxWireConnections = 8;

// Parses `text` into `config`, and returns all mistakes: those of ParseText, and those of CheckDaemonConfig that cannot
// follow from them, sorted by line. Mistakes without a line come last. Adds a warning for each name of an earlier
// release to `warnings`.
std::vector<Mistake> CheckDaemonConfigText(std::string_view text, v1::DaemonConfig* config,
                                           std::vector<Mistake>* warnings);

// Checks the rules that need no text. Lines are 0. Reports no mistake that may follow from another. Unset fields are
// valid, because they have defaults.
std::vector<Mistake> CheckDaemonConfig(const v1::DaemonConfig& config);

// Reads and checks a file of at most 1 MiB. Returns NotFound if it does not exist, and InvalidArgument that lists all
// mistakes by line. Adds a line for each name of an earlier release to `warnings`.
absl::StatusOr<v1::DaemonConfig> LoadDaemonConfig(const std::string& path, std::vector<std::string>* warnings);

enum class DaemonRole { kStandalone, kCoordinator, kWorker };

// Fills unset fields: addresses to listen at and of the coordinator, names of data roots, times, memory budget (half of
// `memory`, at least 64 MiB), record and row caches, number of sessions, limits, log level. Unset threads stay 0: the
// loader then chooses.
void FillDaemonDefaults(DaemonRole role, const MemoryLimit& memory, v1::DaemonConfig* config);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_DAEMON_CONFIG_H_
