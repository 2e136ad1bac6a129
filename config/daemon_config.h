// The daemon's configuration: file, flags over it, defaults under it, checked as a whole.
#ifndef PENSTOCK_CONFIG_DAEMON_CONFIG_H_
#define PENSTOCK_CONFIG_DAEMON_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "config/text_file.h"
#include "penstock/v1/config.pb.h"

namespace penstock {

// Threads that only read: of a worker, and of `penstock bench`, which measures as one.
inline constexpr uint32_t kMaxReadThreads = 512;

// Connections of a stream to another host.
inline constexpr uint32_t kMaxWireConnections = 8;

// All mistakes of a configuration file's text.
std::vector<Mistake> CheckDaemonConfigText(std::string_view text, v1::DaemonConfig* config);

// The rules that need no text. Lines are 0. Fields that are not set are right: they have defaults.
std::vector<Mistake> CheckDaemonConfig(const v1::DaemonConfig& config);

// Reads and checks. NotFound where there is no such file; InvalidArgument lists all mistakes by
// line.
absl::StatusOr<v1::DaemonConfig> LoadDaemonConfig(const std::string& path);

enum class DaemonRole { kStandalone, kCoordinator, kWorker };

// Fills what is not set: listen and coordinator addresses, heartbeat and death times, memory budget
// and caches from the cgroup's limits, root names from their paths. Threads stay 0 where not set
// (the loader asks the cgroup).
void FillDaemonDefaults(DaemonRole role, v1::DaemonConfig* config);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_DAEMON_CONFIG_H_
