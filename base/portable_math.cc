#include "base/portable_math.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace penstock {
namespace {

// ln 2 and pi/2 in two parts. The first part has enough trailing zero bits for its small multiples to be exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kHalfPiHigh = 0x1.921fb544p+0, kHalfPiLow = 0x1.0b4611a626331p-34;

// Returns 2^exponent for exponents of normal numbers.
double PowerOfTwo(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

// Rounds to the nearest integer, for |x| < 2^51.
double Nearest(double x) {
  constexpr double kShift = 0x1.8p52;
  const double shifted = x + kShift;
  return shifted - kShift;
}

// Taylor series for |r| <= pi/4.
double SinSmall(double r) {
  const double z = r * r;
  double sum = 0.0;
  for (int n = 19; n >= 3; n -= 2) sum = z / (n * (n - 1)) * (1.0 - sum);
  return r - r * sum;
}

double CosSmall(double r) {
  const double z = r * r;
  double sum = 0.0;
  for (int n = 18; n >= 2; n -= 2) sum = z / (n * (n - 1)) * (1.0 - sum);
  return 1.0 - sum;
}

// Returns sin(x + quarter * pi/2).
double SinTurned(double x, int quarter) {
  const double turns = Nearest(x * 0x1.45f306dc9c883p-1);  // 2 / pi
  const double r = (x - turns * kHalfPiHigh) - turns * kHalfPiLow;
  switch ((static_cast<int64_t>(turns) + quarter) & 3) {
    case 0:
      return SinSmall(r);
    case 1:
      return CosSmall(r);
    case 2:
      return -SinSmall(r);
    default:
      return -CosSmall(r);
  }
}

}  // namespace

double PortableLog(double x) {
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (mantissa > 0x1.6a09e667f3bcdp0) {  // sqrt 2
    mantissa *= 0.5;
    ++exponent;
  }
  // log m = 2 artanh s = 2 (s + s^3/3 + s^5/5 ...), |s| < 0.172.
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double z = s * s;
  double sum = 0.0;
  for (int n = 23; n >= 3; n -= 2) sum = z * (1.0 / n + sum);
  const double log_mantissa = 2.0 * s + 2.0 * s * sum;
  return exponent * kLn2High + (log_mantissa + exponent * kLn2Low);
}

double PortableExp(double x) {
  if (x != x) return x;
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0.0;
  const double k = Nearest(x * 0x1.71547652b82fep0);  // 1 / ln 2
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1.0;
  for (int n = 14; n >= 1; --n) sum = 1.0 + r / n * sum;
  // In two steps, because 2^k itself may be out of range.
  const int half = static_cast<int>(k) / 2;
  return sum * PowerOfTwo(half) * PowerOfTwo(static_cast<int>(k) - half);
}

double PortableSin(double x) { return SinTurned(x, 0); }
double PortableCos(double x) { return SinTurned(x, 1); }

}  // namespace penstock
