// Whose turn it is to index a file that nobody has an index of: one worker's, however many ask.
#ifndef PENSTOCK_SERVER_COORDINATOR_STORE_INDEX_TURNS_H_
#define PENSTOCK_SERVER_COORDINATOR_STORE_INDEX_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/file.h"
#include "base/runtime/clock.h"

namespace penstock {

// Time is passed in. Not thread-safe. Kept nowhere: after a restart a file may be indexed twice.
class IndexTurns {
 public:
  struct Limits {
    size_t builds = 64;                             // at a time, of all workers: reading must not drown what jobs read
    Nanos build_time = 10 * kSecond;                // a builder that takes longer is taken for dead: so long, and for
    uint64_t bytes_per_second = uint64_t{8} << 20;  // each byte of its file as this rate takes
    Nanos ask_again = 500 * kMillisecond;
  };
  IndexTurns() : IndexTurns(Limits()) {}
  explicit IndexTurns(const Limits& limits) : limits_(limits) {}

  static uint64_t KeyOf(uint64_t content_hash, const FileInfo& file);

  struct Answer {
    bool build = false;   // the asker is to build it
    Nanos ask_again = 0;  // else: after so long
    std::string builder;  // who does; empty: nobody yet, since so many others are being built
  };
  // `bytes` is the file's size. A builder that asks again is told again.
  Answer Ask(uint64_t key, const std::string& worker, uint64_t bytes, Nanos now);
  // It is built, or will not be by the one who was told to.
  void End(uint64_t key) { builds_.erase(key); }

  size_t builds() const { return builds_.size(); }

 private:
  struct Build {
    std::string worker;
    Nanos until = 0;
  };
  const Limits limits_;
  std::unordered_map<uint64_t, Build> builds_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STORE_INDEX_TURNS_H_
