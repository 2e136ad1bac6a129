// Non-uniform draws from a SampleRandom. They use base/portable_math.h, so results are the same on every machine.
#ifndef PENSTOCK_BASE_DISTRIBUTIONS_H_
#define PENSTOCK_BASE_DISTRIBUTIONS_H_

#include "base/philox.h"

namespace penstock {

// Draws from the standard normal distribution by the cosine half of Box and Muller (1958). Always uses two uniform
// draws of 53 bits.
double DrawNormal(SampleRandom* random);

// Draws from the gamma distribution of this shape (> 0) and scale 1: Marsaglia and Tsang, "A simple method for
// generating gamma variables" (2000). For a shape below 1, multiplies a draw of shape + 1 by a power of a uniform draw.
double DrawGamma(double shape, SampleRandom* random);

// Draws from Beta(a, b), with a and b > 0, by two gamma draws. Returns 0.5 if both draws are 0 after rounding.
double DrawBeta(double a, double b, SampleRandom* random);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DISTRIBUTIONS_H_
