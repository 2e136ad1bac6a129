// log, exp, sin and cos that give the same bits on every CPU and with every C library: only IEEE additions,
// multiplications and divisions in a fixed order (the build switches contraction off). Draws and filter weights use
// these; libm's differ between versions and CPUs in the last bit. (sqrt and rounding are exact in IEEE already.)
#ifndef PENSTOCK_BASE_PORTABLE_MATH_H_
#define PENSTOCK_BASE_PORTABLE_MATH_H_

namespace penstock {

// All within 4 units in the last place of the true value, except sin and cos near their zeros, which are within
// 1e-15 absolute.

// Natural logarithm. x must be finite and positive (subnormals included).
double PortableLog(double x);

// e^x. Overflow gives infinity, underflow 0.
double PortableExp(double x);

// |x| must be at most 2^20.
double PortableSin(double x);
double PortableCos(double x);

}  // namespace penstock

#endif  // PENSTOCK_BASE_PORTABLE_MATH_H_
