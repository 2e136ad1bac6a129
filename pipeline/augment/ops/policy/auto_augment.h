// The tables of auto_augment, separate from the op for tests.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_AUTO_AUGMENT_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_AUTO_AUGMENT_H_

#include <array>
#include <cstdint>
#include <span>

#include "pipeline/augment/ops/policy/policy_ops.h"

namespace penstock::augment {

struct AutoAugmentStep {
  PolicyOp op;
  double probability;
  uint8_t bin;  // one of 10
};
struct AutoAugmentPair {
  AutoAugmentStep first, second;
};

// Returns the 25 pairs of a policy, from the paper's appendix in torchvision's order. Returns an empty span for an
// invalid policy.
std::span<const AutoAugmentPair> AutoAugmentPairs(v1::AutoAugment::Policy policy);

// Draws one pair of ops. An op that is not applied is Identity.
std::array<PolicyChoice, 2> DrawAutoAugment(std::span<const AutoAugmentPair> pairs, int width, int height,
                                            SampleRandom* random);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_POLICY_AUTO_AUGMENT_H_
