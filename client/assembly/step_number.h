// The number of a step in its epoch.
#ifndef PENSTOCK_CLIENT_ASSEMBLY_STEP_NUMBER_H_
#define PENSTOCK_CLIENT_ASSEMBLY_STEP_NUMBER_H_

#include <cstdint>

namespace penstock::client {

// Returns the number of steps of `step_size` rows before `position`, rounded up. A resume does not change it.
constexpr uint64_t StepNumber(uint64_t position, uint64_t step_size) {
  return position / step_size + (position % step_size != 0 ? 1 : 0);
}

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_ASSEMBLY_STEP_NUMBER_H_
