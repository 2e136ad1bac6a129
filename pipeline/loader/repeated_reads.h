// Predicts whether, and how often, a job's records will be read again, from the last epochs that its readers declared
// and from the epochs that were seen. Pure.
#ifndef PENSTOCK_PIPELINE_LOADER_REPEATED_READS_H_
#define PENSTOCK_PIPELINE_LOADER_REPEATED_READS_H_

#include <cstdint>
#include <set>

#include "base/check.h"
#include "pipeline/loader/epochs_seen.h"
#include "pipeline/plan/steps.h"

namespace penstock::loader {

class RepeatedReads {
 public:
  // Caching decoded images pays if at least this many epochs follow. In the epoch that fills the cache, whole images
  // are decoded, which costs half as much work again.
  static constexpr uint64_t kPayingEpochs = 3;

  struct Coming {
    bool again = false;  // at least one more epoch: cached records and rows are of use
    bool often = false;  // at least kPayingEpochs more
    bool operator==(const Coming&) const = default;
  };

  // Adds a reader. `end_epoch`: see LoaderSessionOptions. `seen`: the rows so far.
  void Opens(uint64_t end_epoch, const EpochsSeen& seen) {
    if (ends_.empty() && seen.any()) returned_ = true;
    ends_.insert(end_epoch);
  }
  void Closes(uint64_t end_epoch) {
    const auto found = ends_.find(end_epoch);
    PS_CHECK(found != ends_.end());
    ends_.erase(found);
  }

  // Returns the prediction. Once a row was seen, it never changes from true to false, so that filled caches stay until
  // the last epoch ends. `positions`: number of positions in an epoch of the job.
  Coming Look(const EpochsSeen& seen, double positions) {
    const Coming now = {again_.again || Come(1, seen, positions), again_.often || Come(kPayingEpochs, seen, positions)};
    if (seen.any()) again_ = now;
    return now;
  }

 private:
  // Returns whether at least `epochs` epochs follow the current one.
  bool Come(uint64_t epochs, const EpochsSeen& seen, double positions) const {
    // Some readers have not declared their last epoch, or there are no readers.
    const bool unknown = ends_.empty() || *ends_.begin() == plan::kEndNotKnown;
    if (!ends_.empty()) {
      const uint64_t last = *ends_.rbegin();
      if (last == plan::kWithoutEnd || last > seen.latest() + epochs) return true;
    }
    // A job that opened sessions for single epochs before, as an evaluation does, will probably do so again. A session
    // that declared its last epoch needs no further prediction.
    return (unknown || returned_) && seen.again(positions);
  }

  std::multiset<uint64_t> ends_;  // of open readers
  bool returned_ = false;         // a reader came after all earlier ones had closed
  Coming again_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_REPEATED_READS_H_
