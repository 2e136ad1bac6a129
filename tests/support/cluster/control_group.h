// A control group of this machine with a limit, for processes that a test starts.
#ifndef PENSTOCK_TESTS_SUPPORT_CLUSTER_CONTROL_GROUP_H_
#define PENSTOCK_TESTS_SUPPORT_CLUSTER_CONTROL_GROUP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock::support {

// The outer of two groups has the limit. Processes run in the inner one, as under systemd and SLURM. A process may have
// one ControlGroup at a time.
class ControlGroup {
 public:
  enum class Limit { kMemory, kTasks };

  // `value` is in bytes or in threads. Returns an error if this process cannot make groups with that limit. The message
  // states why.
  static absl::StatusOr<std::unique_ptr<ControlGroup>> Create(Limit limit, uint64_t value);
  // Waits until the processes of the group have ended, and removes the group.
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  void SetLimit(uint64_t value);
  // The file that sets the limit.
  const std::string& file() const { return file_; }
  // Returns the start of a command line. The command after it runs in the group.
  std::vector<std::string> Prefix() const;

 private:
  ControlGroup() = default;
  bool TryCreate(const std::string& parent, bool version_2, Limit limit);

  std::string outer_, inner_, file_;
};

// Returns the start of a command line. A shell runs `commands`, such as "ulimit -f 64", and then the command after the
// start.
std::vector<std::string> AfterShell(const std::string& commands);

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_CONTROL_GROUP_H_
