// The records of one data set in the disk cache: a folder with the files `records`, `index` and `about` (disk_entry.h).
// One thread writes, and many threads read.
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

namespace penstock::cache {

class DiskSpace {
 public:
  // Memory of an entry in the table, at the table's average load.
  static constexpr size_t kEntryMemory = 48;

  // Opens `folder`, creating it if it does not exist, and loads its valid entries, but at most `most_entries`.
  // Truncates both files after the last entry that it loads: further records are lost. Errors name the file.
  static absl::StatusOr<std::unique_ptr<DiskSpace>> Open(const std::string& folder, uint64_t space,
                                                         const std::string& about, size_t most_entries);
  ~DiskSpace();
  DiskSpace(const DiskSpace&) = delete;
  DiskSpace& operator=(const DiskSpace&) = delete;

  // Returns whether the record is in the index. Any thread may call it.
  bool Contains(uint64_t record) const;
  // Reads the record of `length` bytes into `out`, which must have room for kDiskHeaderBytes more. Any thread may call
  // it.
  //   the bytes, in `out`   the record is complete
  //   nullopt               it is not here; a damaged entry is dropped and counted by damaged()
  // Errors are those of the disk and name the file.
  absl::StatusOr<std::optional<std::string_view>> Read(uint64_t record, uint32_t length, char* out);
  // Announces that the record will be read soon. Never blocks. Any thread may call it.
  void WillRead(uint64_t record, uint32_t length) const;

  // Adds the record unless it exists. Adds no entry on an error. Only the writer's thread may call it.
  absl::Status Append(uint64_t record, std::string_view bytes);
  // Returns whether the opened folder is still in place, neither removed nor replaced. Only the writer's thread may
  // call it.
  bool IsInPlace() const;
  // Sets the folder's modification time, which records its last use. Only the writer's thread may call it.
  void MarkUsed() const;

  uint64_t space() const { return space_; }
  const std::string& folder() const { return folder_; }
  uint64_t bytes() const { return bytes_.load(); }  // size of its files
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
  // Ends of the valid data. Used only by the writer.
  uint64_t records_end_ = 0;
  uint64_t index_end_ = 0;
  std::atomic<uint64_t> bytes_{0}, damaged_{0};
  mutable Mutex mutex_;
  absl::flat_hash_map<uint64_t, uint64_t> offsets_ ABSL_GUARDED_BY(mutex_);  // by record
};

}  // namespace penstock::cache

#endif  // PENSTOCK_PIPELINE_CACHE_DISK_DISK_SPACE_H_
