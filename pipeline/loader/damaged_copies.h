// Records whose copy on this machine is damaged, until their file changes.
#ifndef PENSTOCK_PIPELINE_LOADER_DAMAGED_COPIES_H_
#define PENSTOCK_PIPELINE_LOADER_DAMAGED_COPIES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "pipeline/sources/snapshot.h"

namespace penstock::loader {

// Thread-safe. Remembers at most kMost records. The copies of further ones are read again each time.
class DamagedCopies {
 public:
  static constexpr size_t kMost = 65536;
  // After this time, the file's state is compared again before an entry is trusted.
  static constexpr Nanos kTrustedFor = 2 * kSecond;

  // `log` receives a line for the first damaged record of a file, and one when the file has changed. It runs without a
  // lock, on the thread that found the change. Null: no log.
  using Log = std::function<void(const std::string& line)>;
  explicit DamagedCopies(Clock* clock, Log log = {}) : clock_(clock), log_(std::move(log)) {}

  // Adds a record for which three reads returned the same wrong bytes. `name` is "record 12". `damage`
  // names file, record and offset.
  void Found(const sources::RecordRef& record, const std::string& name, const std::string& file,
             const absl::Status& damage);
  // Reports that the file is still in the state in which the record was found damaged.
  void FoundUnchanged(const sources::RecordRef& record);
  // Removes the records of a shard whose file has changed.
  void Forget(uint32_t shard);

  struct Known {
    absl::Status damage;   // OK: no known damage
    bool trusted = false;  // its file was examined within kTrustedFor
  };
  // Returns the known damage of the record. Cheap while no copy is damaged.
  Known Find(const sources::RecordRef& record) const;

  // Returns at most `most` lines for `status`, one per file, with the number of damaged records and the first of them.
  std::vector<std::string> Lines(size_t most) const;

 private:
  struct Copy {
    absl::Status damage;
    Nanos looked_at = 0;
    std::string name;
  };
  struct File {
    std::string path;
    std::map<uint64_t, Copy> records;
  };

  Clock* const clock_;
  const Log log_;
  std::atomic<size_t> count_{0};
  mutable Mutex mutex_;
  std::map<uint32_t, File> files_ ABSL_GUARDED_BY(mutex_);  // by shard
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_DAMAGED_COPIES_H_
