// The folder where a daemon keeps what must survive a restart.
#ifndef PENSTOCK_SERVER_COMMON_STATE_DIR_H_
#define PENSTOCK_SERVER_COMMON_STATE_DIR_H_

#include <string>

#include "absl/status/statusor.h"

namespace penstock {

// Holds a lock on a folder for one role ("coordinator", "worker"): a standalone daemon has both in one folder, but two
// daemons of a role are kept apart. Released on destruction and when the process ends, however it ends.
class StateDir {
 public:
  // Makes the folder and its parents where needed (mode 0750) and takes FOLDER/ROLE.lock.
  //   FailedPrecondition  another process has it: says its process id
  //   others              the folder cannot be made or written: names it
  static absl::StatusOr<StateDir> Open(const std::string& path, const std::string& role);

  StateDir(StateDir&& other) noexcept;
  StateDir& operator=(StateDir&& other) noexcept;
  ~StateDir();

  const std::string& path() const { return path_; }

 private:
  StateDir(std::string path, int fd);
  std::string path_;
  int fd_ = -1;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COMMON_STATE_DIR_H_
