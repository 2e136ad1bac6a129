// A hidden folder that holds new shards until all of them are complete. It is beside their final folder.
#ifndef PENSTOCK_PIPELINE_PACK_PACK_STAGING_H_
#define PENSTOCK_PIPELINE_PACK_PACK_STAGING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock::pack {

// Not thread-safe. The object owns the folder and removes it on destruction. If its process was killed, the next object
// for the same `out` removes the folder, if the file system has locks.
class PackStaging {
 public:
  // Creates the folder for `out`, an absolute path, and the parents of `out`. Returns FailedPrecondition if `out`
  // exists and is not an empty folder, or is a mount point. To find out, it renames an empty `out` for a moment.
  static absl::StatusOr<std::unique_ptr<PackStaging>> Create(const std::string& out);
  // Creates a folder only for parts, for shards that are written elsewhere. The folder is beside `name`, an absolute
  // path that need not exist. Do not call Publish.
  static absl::StatusOr<std::unique_ptr<PackStaging>> CreateApart(const std::string& name);
  ~PackStaging();
  PackStaging(const PackStaging&) = delete;
  PackStaging& operator=(const PackStaging&) = delete;

  const std::string& folder() const { return folder_; }
  // Returns the path where the caller creates the new folder.
  std::string shards() const { return folder_ + "/shards"; }
  // Returns the files of finished parts in order: the main writer's, then the others by number. Returns
  // FailedPrecondition, with the part's number, if a numbered part was begun, or is one of `expected`, but is not
  // finished. Omits an unfinished part of the main writer.
  absl::StatusOr<std::vector<std::string>> Parts(const std::vector<uint32_t>& expected) const;
  // Renames shards() to `out` atomically. Returns FailedPrecondition if `out` exists and is not an empty folder, or is
  // a mount point.
  absl::Status Publish();

 private:
  static absl::StatusOr<std::unique_ptr<PackStaging>> CreateBeside(const std::string& out);
  PackStaging(std::string out, std::string folder, int lock)
      : out_(std::move(out)), folder_(std::move(folder)), lock_(lock) {}

  const std::string out_, folder_;
  const int lock_;  // descriptor of the folder, which holds its lock
};

// Return the file of a part in a staging folder, and the file of the main writer.
std::string PartFile(const std::string& staging, uint32_t part);
std::string MainPartFile(const std::string& staging);

}  // namespace penstock::pack

#endif  // PENSTOCK_PIPELINE_PACK_PACK_STAGING_H_
