#include "base/distributions.h"

#include <cmath>

#include "base/portable_math.h"

namespace penstock {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

// Returns a uniform number in (0, 1].
double AboveZero(SampleRandom* random) { return 1.0 - random->UniformDouble(); }

}  // namespace

double DrawNormal(SampleRandom* random) {
  const double radius = std::sqrt(-2.0 * PortableLog(AboveZero(random)));
  return radius * PortableCos(kTwoPi * random->UniformDouble());
}

double DrawGamma(double shape, SampleRandom* random) {
  if (shape < 1) {
    const double larger = DrawGamma(shape + 1, random);
    return larger * PortableExp(PortableLog(AboveZero(random)) / shape);
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = DrawNormal(random);
    const double root = 1.0 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = AboveZero(random);
    if (PortableLog(u) < 0.5 * x * x + d - d * v + d * PortableLog(v)) return d * v;
  }
}

double DrawBeta(double a, double b, SampleRandom* random) {
  const double x = DrawGamma(a, random);
  const double y = DrawGamma(b, random);
  return x + y > 0 ? x / (x + y) : 0.5;
}

}  // namespace penstock
