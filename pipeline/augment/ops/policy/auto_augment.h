// The tables of auto_augment, apart from the op so that tests see them.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_AUTO_AUGMENT_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_AUTO_AUGMENT_H_

#include <array>
#include <cstdint>
#include <span>

#include "pipeline/augment/ops/policy/policy_ops.h"

namespace penstock {

struct AutoAugmentStep {
  PolicyOp op;
  double probability;
  uint8_t bin;  // of 10
};
struct AutoAugmentPair {
  AutoAugmentStep first, second;
};

// The 25 pairs of a policy, of the paper's appendix in torchvision's order; empty for a policy that is none.
std::span<const AutoAugmentPair> AutoAugmentPairs(v1::AutoAugment::Policy policy);

// One draw; an op that is not applied is Identity.
std::array<PolicyChoice, 2> DrawAutoAugment(std::span<const AutoAugmentPair> pairs, int width, int height,
                                            SampleRandom* random);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_AUTO_AUGMENT_H_
