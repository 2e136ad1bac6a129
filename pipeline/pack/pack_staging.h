// Where shards are until all of them are there: a hidden folder beside the one that they will be in.
#ifndef PENSTOCK_PIPELINE_PACK_PACK_STAGING_H_
#define PENSTOCK_PIPELINE_PACK_PACK_STAGING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Not thread-safe. The folder belongs to the object, and is removed with it; one whose process was killed is removed by
// the next that is made for the same `out`.
class PackStaging {
 public:
  // FailedPrecondition: `out`, an absolute path, is there and not empty.
  static absl::StatusOr<std::unique_ptr<PackStaging>> Create(const std::string& out);
  // For shards that are written elsewhere: a folder for parts alone, beside `name`, an absolute path that need not be
  // there. It is not published.
  static absl::StatusOr<std::unique_ptr<PackStaging>> CreateApart(const std::string& name);
  ~PackStaging();
  PackStaging(const PackStaging&) = delete;
  PackStaging& operator=(const PackStaging&) = delete;

  const std::string& folder() const { return folder_; }
  // The new folder is made here.
  std::string shards() const { return folder_ + "/shards"; }
  // The files of finished parts, in their order: that of the main writer, then by number. FailedPrecondition where a
  // part was begun and not finished, or one of `expected` was not begun; the message names it.
  absl::StatusOr<std::vector<std::string>> Parts(const std::vector<uint32_t>& expected) const;
  // shards() becomes `out`, in one step.
  absl::Status Publish();

 private:
  static absl::StatusOr<std::unique_ptr<PackStaging>> CreateBeside(const std::string& out);
  PackStaging(std::string out, std::string folder, int lock)
      : out_(std::move(out)), folder_(std::move(folder)), lock_(lock) {}

  const std::string out_, folder_;
  const int lock_;  // file descriptor of the folder
};

// The file of a part in a staging folder, and that of the main writer.
std::string PartFile(const std::string& staging, uint32_t part);
std::string MainPartFile(const std::string& staging);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_PACK_PACK_STAGING_H_
