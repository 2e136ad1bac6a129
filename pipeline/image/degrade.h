// Degradations: noise, rectangles and grids. They give the same bytes on every machine. FillRect, FillRectRandomly and
// FillGrid use only the size and the channels of `image`.
#ifndef PENSTOCK_PIPELINE_IMAGE_DEGRADE_H_
#define PENSTOCK_PIPELINE_IMAGE_DEGRADE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/philox.h"
#include "pipeline/image/adjust.h"
#include "pipeline/image/image_view.h"

namespace penstock::image {

// Adds round(sigma * z) to every value and clamps the result. With `same_for_all_channels`, all channels of a pixel
// share one z. z is one of 4096 equally likely points of the standard normal distribution: the middles of its 4096
// parts of equal probability (largest +-3.67, standard deviation 0.9996). Each z takes 16 random bits. A word holds
// two, the low half first, and each row starts with a new word. Requires 0 <= sigma <= 255. `out` may be the memory of
// `in` with the same stride.
void AddNoise(const ImageView& in, double sigma, bool same_for_all_channels, SampleRandom* random, ImageTarget out);

// Fills `rect` with `color`. `rect` may be partly or entirely outside the image and is clipped at its border.
void FillRect(const ImageView& image, const Rect& rect, const uint8_t color[3], ImageTarget out);
// Fills `rect`, clipped as by FillRect, with independent uniform bytes in 0..255. A random word gives four bytes, the
// lowest first, and each row starts with a new word.
void FillRectRandomly(const ImageView& image, const Rect& rect, SampleRandom* random, ImageTarget out);

// A grid of squares around the center of the image. The grid is turned counter-clockwise by `degrees`, as seen on
// screen. u and v are a pixel's coordinates in the turned and shifted grid. A pixel gets `color` if u mod unit and v
// mod unit are both at least `keep`. Requires unit >= 2 and 0 < keep < unit. Coordinates are fixed point with 16 bits
// of fraction.
struct GridOfSquares {
  int unit = 2, keep = 1;
  int shift_x = 0, shift_y = 0;
  double degrees = 0;
};
void FillGrid(const ImageView& image, const GridOfSquares& grid, const uint8_t color[3], ImageTarget out);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_DEGRADE_H_
