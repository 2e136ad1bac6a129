// The records of one data set in the cache on disk: a folder with the files `records`, `index` and `about`
// (disk_entry.h). Written by one thread, read by many.
#ifndef PENSTOCK_PIPELINE_CACHE_DISK_DISK_SPACE_H_
#define PENSTOCK_PIPELINE_CACHE_DISK_DISK_SPACE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/cache/disk/disk_entry.h"

namespace penstock {

class DiskSpace {
 public:
  // Memory that an entry takes here: in the table, at the load that it has on average.
  static constexpr size_t kEntryMemory = 48;

  // Opens `folder`, which is made where it is not there, and takes up what is believable of it: what a process that was
  // killed left behind the last whole entry is cut off. At most `most_entries` are taken up. Errors name the file.
  static absl::StatusOr<std::unique_ptr<DiskSpace>> Open(const std::string& folder, uint64_t space,
                                                         const std::string& about, size_t most_entries);
  ~DiskSpace();
  DiskSpace(const DiskSpace&) = delete;
  DiskSpace& operator=(const DiskSpace&) = delete;

  // Any thread. Whether the record is here, as far as the index knows.
  bool Contains(uint64_t record) const;
  // Any thread. Reads the record of `length` bytes into `out`, which has room for kDiskHeaderBytes more.
  //   the bytes, in `out`   it is here, whole
  //   nothing               it is not; what was here and is damaged is forgotten, and counted by damaged()
  // Errors are those of the disk, and name the file.
  absl::StatusOr<std::optional<std::string_view>> Read(uint64_t record, uint32_t length, char* out);
  // Any thread. It will be read soon; never waits.
  void WillRead(uint64_t record, uint32_t length) const;

  // The writer's thread. Adds the record, unless it is here. On an error nothing is added.
  absl::Status Append(uint64_t record, std::string_view bytes);
  // The writer's thread. Whether the folder still is what was opened: nobody has removed or replaced it.
  bool IsInPlace() const;
  // The writer's thread. The folder's time says when it was used last.
  void MarkUsed() const;

  uint64_t space() const { return space_; }
  const std::string& folder() const { return folder_; }
  uint64_t bytes() const { return bytes_.load(); }  // of its files
  size_t entries() const;
  uint64_t damaged() const { return damaged_.load(); }

 private:
  DiskSpace(std::string folder, uint64_t space) : folder_(std::move(folder)), space_(space) {}
  absl::Status OpenFiles(const std::string& about);
  absl::Status TakeUpIndex(size_t most_entries);

  const std::string folder_;
  const uint64_t space_;
  int records_fd_ = -1;
  int index_fd_ = -1;
  // Of what counts; the writer's.
  uint64_t records_end_ = 0;
  uint64_t index_end_ = 0;
  std::atomic<uint64_t> bytes_{0}, damaged_{0};
  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, uint64_t> offsets_ ABSL_GUARDED_BY(mutex_);  // by record
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_CACHE_DISK_DISK_SPACE_H_
