// What spoils pixels: noise, rectangles and grids of a color, a pass through JPEG. Integer arithmetic: the same bytes
// on every machine.
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

namespace penstock {

// Adds round(sigma * z) to every value, clamped; or the same to all channels of a pixel. z is one of 4096 equally
// likely points of the standard normal distribution, the middles of its 4096 parts of equal probability (largest
// +-3.67, standard deviation 0.9996). Draws 16 bits for each, two from a word, low half first, a row starting with a
// new word. 0 <= sigma <= 255. `out` may be the memory of `in` with the same stride.
void AddNoise(const ImageView& in, double sigma, bool same_for_all_channels, SampleRandom* random, ImageTarget out);

// Fills rect, clipped at the image's border (it may lie outside), with a color.
void FillRect(const ImageView& image, const Rect& rect, const uint8_t color[3], ImageTarget out);
// As above with bytes of their own, uniform in 0..255: four from a word, lowest first, a row starting with a new word.
// `image` is only the size.
void FillRectRandomly(const ImageView& image, const Rect& rect, SampleRandom* random, ImageTarget out);

// A grid of squares around the image's center: with (u, v) the coordinates after a turn by `degrees`
// (counter-clockwise) and a shift, a pixel gets `color` where u mod unit and v mod unit are both at least `keep`.
// unit >= 2, 0 < keep < unit. Fixed point with 16 bits of fraction.
struct GridOfSquares {
  int unit = 2, keep = 1;
  int shift_x = 0, shift_y = 0;
  double degrees = 0;
};
void FillGrid(const ImageView& image, const GridOfSquares& grid, const uint8_t color[3], ImageTarget out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_DEGRADE_H_
