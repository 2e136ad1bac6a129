#include "pipeline/plan/fitting_batch.h"

namespace penstock::plan {

uint32_t FittingBatch(uint64_t rows) {
  for (uint32_t size = 256; size > 1; size /= 2) {
    if (size <= rows && !IsMuchDropped(rows % size, rows)) return size;
  }
  return 1;
}

bool IsMuchDropped(uint64_t dropped, uint64_t rows) { return dropped > rows / kDroppedWorthAWord; }

}  // namespace penstock::plan
