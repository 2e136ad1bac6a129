// The draws of rand_augment and trivial_augment_wide, separate from the ops for tests.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_RAND_AUGMENT_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_RAND_AUGMENT_H_

#include <cstdint>

#include "pipeline/augment/ops/policy/policy_ops.h"

namespace penstock::augment {

// Draws one of rand_augment's choices for an image of this size: the op, uniform over 14, at magnitude number `bin` of
// `bins`. If the op has a sign, draws it with probability 1/2.
PolicyChoice DrawRandAugment(uint32_t bin, uint32_t bins, int width, int height, SampleRandom* random);

// Like DrawRandAugment, but also draws the magnitude's number, uniform over `bins`, if the op has magnitudes.
PolicyChoice DrawTrivialAugmentWide(uint32_t bins, int width, int height, SampleRandom* random);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_RAND_AUGMENT_H_
