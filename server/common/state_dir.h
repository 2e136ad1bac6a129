// The folder for daemon state that survives restarts.
#ifndef PENSTOCK_SERVER_COMMON_STATE_DIR_H_
#define PENSTOCK_SERVER_COMMON_STATE_DIR_H_

#include <string>

#include "absl/status/statusor.h"

namespace penstock::server {

// Holds a lock on a folder for one role ("coordinator", "worker"). A standalone daemon has both roles in one folder.
// Two daemons of the same role cannot share one. The destructor or the end of the process releases the lock.
class StateDir {
 public:
  // Creates the folder and its parents if needed (mode 0750) and locks FOLDER/ROLE.lock.
  //   InvalidArgument     `path` is empty
  //   FailedPrecondition  another process holds the lock; names its process id
  //   others              the folder cannot be created or written; names it
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

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_STATE_DIR_H_
