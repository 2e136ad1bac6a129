// The key of one sample's random draws.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_SAMPLE_KEY_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_SAMPLE_KEY_H_

#include <cstdint>

#include "base/hash.h"
#include "base/philox.h"

namespace penstock {

// All values, besides the op's path, that the random draws of a sample depend on.
struct SampleKey {
  // With names of data sets, these are the seed of the data set, its pass, 0, and the number of the record in the data
  // set (plan/data_order.h).
  uint64_t seed = 0;  // order.seed
  uint64_t epoch = 0;
  uint16_t repeat = 0;     // pass over the records in the epoch: position / number of records
  uint64_t record_id = 0;  // index of the record in the snapshot, shards in sorted order

  // Returns the generator for the op at a path. `path_hash` is Hash64 of the op's declared name or its number in its
  // list. For an inner op it is the hash of "PARENT/CHILD".
  SampleRandom RandomOf(uint64_t path_hash) const {
    return SampleRandom(HashWords({seed, epoch, path_hash}), record_id, repeat);
  }
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_SAMPLE_KEY_H_
