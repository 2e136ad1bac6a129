// log, exp, sin and cos with the same bits on every CPU and with every C library. They use only IEEE additions,
// subtractions, multiplications and divisions in a fixed order; the build disables contraction. Draws and filter
// weights use them, because the last bit of libm's results differs between versions and CPUs. (IEEE defines sqrt and
// rounding exactly.)
#ifndef PENSTOCK_BASE_PORTABLE_MATH_H_
#define PENSTOCK_BASE_PORTABLE_MATH_H_

namespace penstock {

// All results are within 4 units in the last place of the true value, except sin and cos near their zeros, which are
// within 1e-15 absolute.

// Returns the natural logarithm. x must be finite and positive (subnormals included).
double PortableLog(double x);

// Returns e^x: infinity on overflow, 0 on underflow, and NaN for NaN.
double PortableExp(double x);

// |x| must be at most 2^20.
double PortableSin(double x);
double PortableCos(double x);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PORTABLE_MATH_H_
