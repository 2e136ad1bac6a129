// Affine and perspective warps, as Pillow's Image.transform does them.
#ifndef PENSTOCK_PIPELINE_IMAGE_WARP_H_
#define PENSTOCK_PIPELINE_IMAGE_WARP_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "pipeline/image/adjust.h"
#include "pipeline/image/image_view.h"

namespace penstock {

// From a pixel of the result to where it comes from: (x, y) of the result's pixel centers, (x + 0.5, y + 0.5), goes to
// ((a x + b y + c) / w, (d x + e y + f) / w), w = g x + h y + 1 in the input's pixels. Affine: g = h = 0.
// Pillow's order of the coefficients (AFFINE: the first six; PERSPECTIVE: all eight).
struct WarpMap {
  std::array<double, 8> k = {1, 0, 0, 0, 1, 0, 0, 0};
  bool IsAffine() const { return k[6] == 0 && k[7] == 0; }
};

enum class WarpSampling : uint8_t { kNearest, kBilinear };

// Writes out_width x out_height dense pixels; what comes from outside the input is fill[c]. 1 or 3 channels. `out` does
// not overlap `in`. Nearest chooses the pixel that Pillow chooses; bilinear differs from Pillow by at most 1.
void Warp(const ImageView& in, const WarpMap& map, WarpSampling sampling, const uint8_t fill[3], int out_width,
          int out_height, ImageTarget out);

// The maps of torchvision's functional.affine and rotate (PIL images, center of the image unless said), whose angles
// are in degrees. Rotate is counter-clockwise. Our own sin, cos and tan, so that the map is the same on every machine.
struct AffineParameters {
  double degrees = 0;
  double translate_x = 0, translate_y = 0;  // pixels
  double scale = 1;
  double shear_x_degrees = 0, shear_y_degrees = 0;
  bool center_given = false;
  double center_x = 0, center_y = 0;  // torchvision's `center`, used by auto-augment's shears: {0, 0}
};
WarpMap AffineMap(const AffineParameters& parameters, int width, int height);
// The shear by which row y moves left by x * y pixels and column x up by y * x (auto-augment's levels: the tangents
// of `affine`'s angles, about {0, 0}).
WarpMap ShearMap(double x, double y);
WarpMap RotateMap(double degrees, int width, int height);
// Takes the quadrilateral `from` of the input to `to` of the result (x0, y0, ... clockwise from the upper left corner):
// torchvision's _get_perspective_coeffs, solved in double. Corners that no map joins (three on a line) give the
// identity.
WarpMap PerspectiveMap(const std::array<double, 8>& from, const std::array<double, 8>& to);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_WARP_H_
