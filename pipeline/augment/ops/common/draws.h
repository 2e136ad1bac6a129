// Draws that consume no random numbers if the result is certain: a probability of 0 or 1, or a range of one value.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_DRAWS_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_DRAWS_H_

#include "base/philox.h"

namespace penstock {

bool DrawChance(double probability, SampleRandom* random);
double DrawUniform(double low, double high, SampleRandom* random);
int DrawInteger(int low, int high, SampleRandom* random);  // both bounds inclusive

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_DRAWS_H_
