// Keeps the files that currently fail, for status, logs and messages.
#ifndef PENSTOCK_PIPELINE_STORAGE_FILE_ERRORS_H_
#define PENSTOCK_PIPELINE_STORAGE_FILE_ERRORS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"

namespace penstock::storage {

// Thread-safe. Bounded: ignores further files while it keeps kMostFiles.
class FileErrors {
 public:
  static constexpr size_t kMostFiles = 1024;
  // Errors that do not recur within this time are dropped.
  static constexpr Nanos kKeptFor = 15 * kSecond;

  // Maximum number of lines about failures of single files in an interval. One more line reports that other files fail
  // too.
  static constexpr int kMostReported = 8;

  // Receives a line when a file begins to fail, at most once in `interval` while the file keeps failing, and when the
  // file recovers. If more than kMostReported files fail, receives lines about only some of them. Receives a recovery
  // only if it received the failure. Runs without locks, on the thread that calls Failed, Silent or Recovered.
  using Report = std::function<void(const std::string& line)>;
  explicit FileErrors(Clock* clock, Report report = {}, Nanos interval = 30 * kSecond)
      : clock_(clock), report_(std::move(report)), interval_(interval) {}

  // Records that a try to use `file` failed with `status`, whose message may begin with the name of the file. `next` is
  // the end of the line: the reaction to the failure, in words.
  void Failed(const std::string& file, const absl::Status& status, const std::string& next);
  // Records that a request for `file` is in flight and has received nothing for the duration `silent`. `what` is the
  // error in words, and `next` is as for Failed. Does not count as a failed try.
  void Silent(const std::string& file, const std::string& what, Nanos silent, const std::string& next);
  // Records that a try to use `file` succeeded. Cheap for a file without errors.
  void Recovered(const std::string& file);

  // Returns a line for each failing file: its name, the error, its duration, the number of tries, and the reaction.
  // Returns at most `most` lines, with the files that have failed longest first. Truncates each line to `bytes` bytes.
  std::vector<std::string> Lines(size_t most, size_t bytes) const;

 private:
  struct Failure {
    std::string what, next;
    Nanos since = 0, last = 0, reported_at = 0;
    uint64_t tries = 0;
    bool was_reported = false;
  };
  // Returns the entry of `file`. Creates it if there is none. Returns null if the table is full.
  Failure* Find(const std::string& file, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the line to report now, or "" if none is due.
  std::string LineToReport(const std::string& file, Failure* failure, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static std::string LineOf(const std::string& file, const Failure& failure, Nanos now);

  Clock* const clock_;
  const Report report_;
  const Nanos interval_;
  mutable Mutex mutex_;
  std::map<std::string, Failure> errors_ ABSL_GUARDED_BY(mutex_);
  // Start of the current interval, and the number of lines reported in it.
  Nanos interval_began_ ABSL_GUARDED_BY(mutex_) = 0;
  int reported_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_FILE_ERRORS_H_
