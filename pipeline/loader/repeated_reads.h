// Whether records of a job are going to be asked for again, and how often: by what its readers say of their last epoch,
// and by what was seen. Pure.
#ifndef PENSTOCK_PIPELINE_LOADER_REPEATED_READS_H_
#define PENSTOCK_PIPELINE_LOADER_REPEATED_READS_H_

#include <cstdint>
#include <set>

#include "base/check.h"
#include "pipeline/loader/epochs_seen.h"
#include "pipeline/plan/steps.h"

namespace penstock {

class RepeatedReads {
 public:
  // Where images are to be kept decoded, whole ones are decoded in the epoch that fills: half as much work again. So
  // many epochs behind it pay for that.
  static constexpr uint64_t kPayingEpochs = 3;

  struct Coming {
    bool again = false;  // an epoch: what is kept as it is, or as it was made, is of use
    bool often = false;  // kPayingEpochs of them
    bool operator==(const Coming&) const = default;
  };

  // `end_epoch`: see LoaderSessionOptions. `seen`: what was asked for before.
  void Opens(uint64_t end_epoch, const EpochsSeen& seen) {
    if (ends_.empty() && seen.any()) returned_ = true;
    ends_.insert(end_epoch);
  }
  void Closes(uint64_t end_epoch) {
    const auto found = ends_.find(end_epoch);
    PS_CHECK(found != ends_.end());
    ends_.erase(found);
  }

  // Stays once it was so: what has filled is kept to the end of the last epoch.
  Coming Look(const EpochsSeen& seen, double positions) {
    const Coming now = {again_.again || Come(1, seen, positions), again_.often || Come(kPayingEpochs, seen, positions)};
    if (seen.any()) again_ = now;
    return now;
  }

 private:
  // Whether so many epochs come after the one that is read.
  bool Come(uint64_t epochs, const EpochsSeen& seen, double positions) const {
    // Some who read have not said where they end, or nobody reads.
    const bool unknown = ends_.empty() || *ends_.begin() == kEndNotKnown;
    if (!ends_.empty()) {
      const uint64_t last = *ends_.rbegin();
      if (last == kWithoutEnd || last > seen.latest() + epochs) return true;
    }
    // Those who come again and again for an epoch, as an evaluation does, will do so once more. Who says when he is
    // through has told all.
    return (unknown || returned_) && seen.again(positions);
  }

  std::multiset<uint64_t> ends_;  // of those who read
  bool returned_ = false;         // somebody read, went, and somebody came
  Coming again_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_REPEATED_READS_H_
