// Free bytes of file systems for metrics. A file system that hangs delays no caller.
#ifndef PENSTOCK_SERVER_METRICS_DISK_ROOMS_H_
#define PENSTOCK_SERVER_METRICS_DISK_ROOMS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace penstock::server {

// Free bytes and size of the file system with a folder. Both are 0 if they are unknown.
struct DiskRoom {
  uint64_t free_bytes = 0, size_bytes = 0;
};

// Asks the system. May block as long as the file system does.
DiskRoom RoomAt(const std::string& folder);

// Thread-safe.
class DiskRooms {
 public:
  using Measure = std::function<DiskRoom(const std::string& folder)>;

  // Starts the first measurement. `measure` runs on a thread of its own, which a file system that hangs holds for as
  // long as the process runs.
  explicit DiskRooms(std::vector<std::string> folders, Measure measure = &RoomAt);

  // Returns the result of the last complete measurement, in the order of the folders; zeros before the first. Starts
  // another measurement unless one is under way. Does not wait for it.
  std::vector<DiskRoom> Last();
  // Returns the same as text, a line for each folder: "/data/state: 4096 of 8192 bytes are free".
  std::string LastText();

 private:
  struct State;
  const std::shared_ptr<State> state_;  // also owned by the measurement
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_METRICS_DISK_ROOMS_H_
