// The draws of rand_augment and trivial_augment_wide, apart from the ops so that tests see them.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_RAND_AUGMENT_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_RAND_AUGMENT_H_

#include <cstdint>

#include "pipeline/augment/ops/policy/policy_ops.h"

namespace penstock {

// One of rand_augment's choices for an image of this size: the op, uniform in 14, at magnitude number `bin` of `bins`;
// its sign each way with 1/2, drawn where the op has one.
PolicyChoice DrawRandAugment(uint32_t bin, uint32_t bins, int width, int height, SampleRandom* random);

// As above; the magnitude's number is drawn, uniform in `bins`, where the op has magnitudes.
PolicyChoice DrawTrivialAugmentWide(uint32_t bins, int width, int height, SampleRandom* random);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_RAND_AUGMENT_H_
