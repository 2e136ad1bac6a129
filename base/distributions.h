// Draws beyond the uniform ones, from the same counter and with our own log, exp and cos: the same on every machine.
#ifndef PENSTOCK_BASE_DISTRIBUTIONS_H_
#define PENSTOCK_BASE_DISTRIBUTIONS_H_

#include "base/philox.h"

namespace penstock {

// Standard normal: Box and Muller (1958), the cosine half; always two uniform draws of 53 bits.
double DrawNormal(SampleRandom* random);

// Gamma of this shape (> 0) and scale 1: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000);
// below shape 1 by way of shape + 1 and a power of a uniform draw.
double DrawGamma(double shape, SampleRandom* random);

// Beta(a, b), a and b > 0: from two gammas. 0.5 where both are too small to tell apart from 0.
double DrawBeta(double a, double b, SampleRandom* random);

}  // namespace penstock

#endif  // PENSTOCK_BASE_DISTRIBUTIONS_H_
