// Affine and perspective warps like Pillow's Image.transform.
#ifndef PENSTOCK_PIPELINE_IMAGE_WARP_H_
#define PENSTOCK_PIPELINE_IMAGE_WARP_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "pipeline/image/adjust.h"
#include "pipeline/image/image_view.h"

namespace penstock::image {

// Maps a pixel of the result to its source. The point (x, y) of the result maps to ((a x + b y + c) / w, (d x + e y +
// f) / w) in the input's pixels, where w = g x + h y + 1. A pixel's center is its column and row plus 0.5. Affine maps
// have g = h = 0. The coefficients have Pillow's order (AFFINE: the first six; PERSPECTIVE: all eight).
struct WarpMap {
  std::array<double, 8> k = {1, 0, 0, 0, 1, 0, 0, 0};
  bool IsAffine() const { return k[6] == 0 && k[7] == 0; }
};

enum class WarpSampling : uint8_t {
  kNearest,
  kBilinear,
  // kBilinear with source coordinates rounded down, as in earlier releases. Only ConformanceDigest uses it.
  kBilinearDown,
};

// Writes out_width x out_height dense pixels. A pixel whose source is outside the input is fill[c]. Images have 1 or
// 3 channels; kNearest also accepts 2. `out` must not overlap `in`. kNearest selects the same pixel as Pillow.
// kBilinear differs from Pillow by at most 1, and is the input's pixel if the source is within 2^-14 of that pixel's
// center.
void Warp(const ImageView& in, const WarpMap& map, WarpSampling sampling, const uint8_t fill[3], int out_width,
          int out_height, ImageTarget out);

// Parameters of torchvision's functional.affine for PIL images. Angles are in degrees. Without `center_given`, the
// center of the image is used. The map functions use portable sin, cos and tan, so that a map is the same on every
// machine.
struct AffineParameters {
  double degrees = 0;
  double translate_x = 0, translate_y = 0;  // pixels
  double scale = 1;
  double shear_x_degrees = 0, shear_y_degrees = 0;
  bool center_given = false;
  double center_x = 0, center_y = 0;  // torchvision's `center`; auto-augment's shears use {0, 0}
};
WarpMap AffineMap(const AffineParameters& parameters, int width, int height);
// Returns the shear about {0, 0} that moves row r left by x * r pixels and column c up by y * c pixels. `x` and `y` are
// auto-augment's levels, the tangents of `affine`'s angles.
WarpMap ShearMap(double x, double y);
// Returns the rotation of Pillow's Image.rotate: counter-clockwise about the center of the image, which keeps its size.
WarpMap RotateMap(double degrees, int width, int height);
// Returns the map from the quadrilateral `from` of the input to `to` of the result (x0, y0, ... clockwise from the
// upper left corner). It is torchvision's _get_perspective_coeffs, solved in double precision. Returns the identity if
// no map exists because three corners are on a line.
WarpMap PerspectiveMap(const std::array<double, 8>& from, const std::array<double, 8>& to);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_WARP_H_
