#include "pipeline/augment/ops/common/draws.h"

namespace penstock {

bool DrawChance(double probability, SampleRandom* random) {
  if (probability <= 0 || probability >= 1) return probability >= 1;
  return random->Chance(probability);
}

double DrawUniform(double low, double high, SampleRandom* random) {
  return low < high ? random->Uniform(low, high) : low;
}

int DrawInteger(int low, int high, SampleRandom* random) {
  return low < high ? low + static_cast<int>(random->Below(static_cast<uint32_t>(high - low) + 1)) : low;
}

}  // namespace penstock
