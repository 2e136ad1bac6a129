// log, exp, sin and cos with the same bits on every CPU and with every C library. They use only IEEE additions,
// multiplications and divisions in a fixed order (the build disables contraction). Draws and filter weights use them,
// because libm's functions differ between versions and CPUs in the last bit. (sqrt and rounding are exact in IEEE
// already.)
#ifndef PENSTOCK_BASE_PORTABLE_MATH_H_
#define PENSTOCK_BASE_PORTABLE_MATH_H_

namespace penstock {

// All results are within 4 units in the last place of the true value, except sin and cos near their zeros, which are
// within 1e-15 absolute.

// Returns the natural logarithm. x must be finite and positive (subnormals included).
double PortableLog(double x);

// Returns e^x. Overflow gives infinity, underflow 0.
double PortableExp(double x);

// |x| must be at most 2^20.
double PortableSin(double x);
double PortableCos(double x);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PORTABLE_MATH_H_
