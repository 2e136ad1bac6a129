#include "server/metrics/disk_rooms.h"

#include <sys/statvfs.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/runtime/threads.h"

namespace penstock::server {

DiskRoom RoomAt(const std::string& folder) {
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0) return {};
  return {uint64_t{disk.f_bavail} * disk.f_frsize, uint64_t{disk.f_blocks} * disk.f_frsize};
}

struct DiskRooms::State : std::enable_shared_from_this<State> {
  State(std::vector<std::string> of, Measure how)
      : folders(std::move(of)), measure(std::move(how)), last(folders.size()) {}

  void Start() {
    {
      MutexLock lock(&mutex);
      if (std::exchange(measuring, true)) return;
    }
    absl::StatusOr<std::thread> thread = StartThread("ps-disk-rooms", [self = shared_from_this()] { self->Run(); });
    if (thread.ok()) return thread->detach();
    MutexLock lock(&mutex);  // the system refuses the thread: the next call tries again
    measuring = false;
  }

  void Run() {
    std::vector<DiskRoom> rooms;
    for (const std::string& folder : folders) rooms.push_back(measure(folder));
    MutexLock lock(&mutex);
    last = std::move(rooms);
    measuring = false;
  }

  const std::vector<std::string> folders;
  const Measure measure;
  Mutex mutex;
  std::vector<DiskRoom> last ABSL_GUARDED_BY(mutex);
  bool measuring ABSL_GUARDED_BY(mutex) = false;
};

DiskRooms::DiskRooms(std::vector<std::string> folders, Measure measure)
    : state_(std::make_shared<State>(std::move(folders), std::move(measure))) {
  state_->Start();
}

std::vector<DiskRoom> DiskRooms::Last() {
  std::vector<DiskRoom> last;
  {
    MutexLock lock(&state_->mutex);
    last = state_->last;
  }
  state_->Start();
  return last;
}

std::string DiskRooms::LastText() {
  const std::vector<DiskRoom> rooms = Last();
  std::string text;
  for (size_t i = 0; i < rooms.size(); ++i) {
    absl::StrAppend(&text, state_->folders[i], ": ", rooms[i].free_bytes, " of ", rooms[i].size_bytes,
                    " bytes are free\n");
  }
  return text;
}

}  // namespace penstock::server
