// Draws that take nothing where there is nothing to draw: a probability of 0 or 1, a range of one value.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_DRAWS_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_DRAWS_H_

#include "base/philox.h"

namespace penstock {

bool DrawChance(double probability, SampleRandom* random);
double DrawUniform(double low, double high, SampleRandom* random);
int DrawInteger(int low, int high, SampleRandom* random);  // low and high included

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_DRAWS_H_
