// Which rows have their stages measured.
#ifndef PENSTOCK_PIPELINE_LOADER_STAGE_SAMPLER_H_
#define PENSTOCK_PIPELINE_LOADER_STAGE_SAMPLER_H_

#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock {

// All that take long, and one in kRarely of those so short that reading the clock would be felt. Of one thread.
class StageSampler {
 public:
  static constexpr Nanos kLong = 100'000;
  static constexpr uint32_t kRarely = 32;

  // Whether the next row is to be measured; the first one is.
  bool Next() { return last_ >= kLong || ++skipped_ >= kRarely; }
  // How long a row that was measured took.
  void Took(Nanos time) {
    last_ = time;
    skipped_ = 0;
  }

 private:
  Nanos last_ = kLong;
  uint32_t skipped_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_STAGE_SAMPLER_H_
