// Chooses the rows whose stages are measured.
#ifndef PENSTOCK_PIPELINE_LOADER_STAGE_SAMPLER_H_
#define PENSTOCK_PIPELINE_LOADER_STAGE_SAMPLER_H_

#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock::loader {

// While the last measured row took at least kLong, chooses each row. Otherwise rows are so short that reading the clock
// is noticeable, and it chooses one in kRarely. For one thread.
class StageSampler {
 public:
  static constexpr Nanos kLong = 100'000;
  static constexpr uint32_t kRarely = 32;

  // Returns whether to measure the next row. Measures the first one.
  bool Next() { return last_ >= kLong || ++skipped_ >= kRarely; }
  // Records the time of a measured row.
  void AddTime(Nanos time) {
    last_ = time;
    skipped_ = 0;
  }

 private:
  Nanos last_ = kLong;
  uint32_t skipped_ = 0;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_STAGE_SAMPLER_H_
