#include <array>
#include <cmath>
#include <utility>

#include "base/portable_math.h"
#include "pipeline/image/warp.h"

namespace penstock::image {
namespace {

constexpr double kPi = 0x1.921fb54442d18p+1;

double Radians(double degrees) { return degrees * (kPi / 180.0); }
double Tan(double x) { return PortableSin(x) / PortableCos(x); }

// Python's round(x, 15) for |x| <= 1. It makes quarter turns exact.
double Round15(double x) { return std::nearbyint(x * 1e15) / 1e15; }

}  // namespace

WarpMap AffineMap(const AffineParameters& p, int width, int height) {
  const double rot = Radians(p.degrees);
  const double sx = Radians(p.shear_x_degrees), sy = Radians(p.shear_y_degrees);
  const double cx = p.center_given ? p.center_x : width * 0.5, cy = p.center_given ? p.center_y : height * 0.5;
  // Rotation and shear without the scale, with determinant 1: torchvision's _get_inverse_affine_matrix.
  const double a = PortableCos(rot - sy) / PortableCos(sy);
  const double b = -PortableCos(rot - sy) * Tan(sx) / PortableCos(sy) - PortableSin(rot);
  const double c = PortableSin(rot - sy) / PortableCos(sy);
  const double d = -PortableSin(rot - sy) * Tan(sx) / PortableCos(sy) + PortableCos(rot);
  const double m0 = d / p.scale, m1 = -b / p.scale, m3 = -c / p.scale, m4 = a / p.scale;
  const double left = -cx - p.translate_x, up = -cy - p.translate_y;
  return {{m0, m1, m0 * left + m1 * up + cx, m3, m4, m3 * left + m4 * up + cy, 0, 0}};
}

WarpMap ShearMap(double x, double y) { return {{1, x, 0, y, 1, 0, 0, 0}}; }

WarpMap RotateMap(double degrees, int width, int height) {
  double turned = std::fmod(degrees, 360.0);  // exact
  if (turned < 0) turned += 360.0;
  const double angle = -Radians(turned);
  const double cos = Round15(PortableCos(angle)), sin = Round15(PortableSin(angle));
  const double cx = width / 2.0, cy = height / 2.0;
  return {{cos, sin, cos * -cx + sin * -cy + 0.0 + cx, -sin, cos, -sin * -cx + cos * -cy + 0.0 + cy, 0, 0}};
}

WarpMap PerspectiveMap(const std::array<double, 8>& from, const std::array<double, 8>& to) {
  // Each corner gives two equations: (x, y) of the result comes from (u, v) of the input.
  double m[8][9] = {};
  for (size_t i = 0; i < 4; ++i) {
    const double x = to[2 * i], y = to[2 * i + 1], u = from[2 * i], v = from[2 * i + 1];
    const double rows[2][9] = {{x, y, 1, 0, 0, 0, -u * x, -u * y, u}, {0, 0, 0, x, y, 1, -v * x, -v * y, v}};
    for (size_t r = 0; r < 2; ++r) {
      for (size_t c = 0; c < 9; ++c) m[2 * i + r][c] = rows[r][c];
    }
  }
  // Gauss-Jordan elimination with the largest pivot of each column.
  for (size_t c = 0; c < 8; ++c) {
    size_t pivot = c;
    for (size_t r = c + 1; r < 8; ++r) {
      if (std::fabs(m[r][c]) > std::fabs(m[pivot][c])) pivot = r;
    }
    if (std::fabs(m[pivot][c]) < 1e-9) return {};  // three corners on a line: no such map
    if (pivot != c) std::swap(m[pivot], m[c]);
    for (size_t r = 0; r < 8; ++r) {
      if (r == c) continue;
      const double factor = m[r][c] / m[c][c];
      for (size_t k = c; k < 9; ++k) m[r][k] -= factor * m[c][k];
    }
  }
  WarpMap map;
  for (size_t c = 0; c < 8; ++c) map.k[c] = m[c][8] / m[c][c];
  return map;
}

}  // namespace penstock::image
