// Assigns a file without an index to one worker for indexing, however many workers ask for it.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_INDEX_TURNS_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_INDEX_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/file.h"
#include "base/runtime/clock.h"

namespace penstock::coordinator {

// Time is passed in. Not thread-safe. Not stored: after a restart, two workers may index the same file.
class IndexTurns {
 public:
  struct Limits {
    // Limit of concurrent builds of all workers, so that they do not slow down the reads of jobs.
    size_t builds = 64;
    Nanos build_time = 10 * kSecond;                // a builder counts as dead after this time,
    uint64_t bytes_per_second = uint64_t{8} << 20;  // plus the time that its file takes at this rate
    Nanos ask_again = 500 * kMillisecond;
  };
  IndexTurns() : IndexTurns(Limits()) {}
  explicit IndexTurns(const Limits& limits) : limits_(limits) {}

  static uint64_t KeyOf(uint64_t content_hash, const FileInfo& file);

  struct Answer {
    bool build = false;   // the caller builds the index
    Nanos ask_again = 0;  // otherwise: pause before the caller asks again
    std::string builder;  // its builder; empty: none yet, because too many builds are running
  };
  // `bytes` is the file's size. A builder that asks again gets the same answer, and its time starts again.
  Answer Ask(uint64_t key, const std::string& worker, uint64_t bytes, Nanos now);
  // Ends the build, whichever worker has it: the coordinator received an index.
  void End(uint64_t key) { builds_.erase(key); }
  // Ends the build if `worker` has it. A worker that was replaced does not end the build of its successor.
  void GiveUp(uint64_t key, const std::string& worker);

  size_t builds() const { return builds_.size(); }

 private:
  struct Build {
    std::string worker;
    Nanos until = 0;
  };
  const Limits limits_;
  std::unordered_map<uint64_t, Build> builds_;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_INDEX_TURNS_H_
