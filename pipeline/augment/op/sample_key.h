// What names the random draws of one sample.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_SAMPLE_KEY_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_SAMPLE_KEY_H_

#include <cstdint>

#include "base/hash.h"
#include "base/philox.h"

namespace penstock {

// What the random draws of a sample depend on, with the op's path: nothing else ever does.
struct SampleKey {
  uint64_t seed = 0;  // order.seed
  uint64_t epoch = 0;
  uint16_t repeat = 0;     // position / N
  uint64_t record_id = 0;  // number of the record in the snapshot, shards in sorted order

  // The draws of the op at a path, from their beginning. `path_hash` is Hash64 of the op's declared name or its
  // number in its list; of an op inside another, of "PARENT/CHILD".
  SampleRandom RandomOf(uint64_t path_hash) const {
    return SampleRandom(HashWords({seed, epoch, path_hash}), record_id, repeat);
  }
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_SAMPLE_KEY_H_
