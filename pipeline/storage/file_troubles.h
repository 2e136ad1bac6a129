// What is wrong with which file just now: for status, logs and messages.
#ifndef PENSTOCK_PIPELINE_STORAGE_FILE_TROUBLES_H_
#define PENSTOCK_PIPELINE_STORAGE_FILE_TROUBLES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"

namespace penstock {

// Thread-safe. Bounded: of more than kMostFiles the rest is not noted.
class FileTroubles {
 public:
  static constexpr size_t kMostFiles = 1024;
  // A trouble that was not met again for so long is nobody's any more.
  static constexpr Nanos kForgotten = 15 * kSecond;

  // Lines that tell of a file in an interval; the next one says that there are more.
  static constexpr int kMostTold = 8;

  // Called with a line when a file begins to fail, every `interval` while it does, and when it is well again; of many
  // files for some of them. Without a lock held; on whatever thread met it.
  using Tell = std::function<void(const std::string& line)>;
  explicit FileTroubles(Clock* clock, Tell tell = {}, Nanos interval = 30 * kSecond)
      : clock_(clock), tell_(std::move(tell)), interval_(interval) {}

  // `file` failed again. `status` says what; it need not name the file again. `next` is what is done about it.
  void Failed(const std::string& file, const absl::Status& status, const std::string& next);
  // Nothing has come of `file` for so long, and it is waited for still: no try that failed.
  void Silent(const std::string& file, const std::string& what, Nanos silent, const std::string& next);
  // It is well. Cheap for a file that was.
  void Mended(const std::string& file);

  // One line a file, those that fail for longest first: the file, what is wrong, since when, how often it was tried,
  // what is done. At most `most` lines, each cut to `bytes`.
  std::vector<std::string> Lines(size_t most, size_t bytes) const;

 private:
  struct Trouble {
    std::string what, next;
    Nanos since = 0, last = 0, told = 0;
    uint64_t tries = 0;
    bool was_told = false;
  };
  // Of `file`, as it is known now; null: there is no room for more.
  Trouble* Find(const std::string& file, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What is to be told of it now; "": nothing.
  std::string Told(const std::string& file, Trouble* trouble, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static std::string LineOf(const std::string& file, const Trouble& trouble, Nanos now);

  Clock* const clock_;
  const Tell tell_;
  const Nanos interval_;
  mutable Mutex mutex_;
  std::map<std::string, Trouble> troubles_ ABSL_GUARDED_BY(mutex_);
  // Lines of the interval that began then.
  Nanos interval_began_ ABSL_GUARDED_BY(mutex_) = 0;
  int told_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_FILE_TROUBLES_H_
