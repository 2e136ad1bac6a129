// Loops over all pixels of an image, used by the functions of adjust.h. On x86, each loop except TurnHue has a vector
// version (adjust_loops.cc, dispatched at run time). Each has a scalar version that gives the same bytes
// (adjust_scalar.cc). Other CPUs run the scalar version, and tests compare the vector version with it.
//
// `in` and `out` may be the same memory with the same stride, unless a function states otherwise.
#ifndef PENSTOCK_PIPELINE_IMAGE_ADJUST_LOOPS_H_
#define PENSTOCK_PIPELINE_IMAGE_ADJUST_LOOPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "pipeline/image/adjust.h"
#include "pipeline/image/image_view.h"

namespace penstock::image {

// Lookup tables, one per channel.
struct PointTables {
  alignas(16) uint8_t of[3][256];
};

// Blends a with b like Pillow's ImagingBlend: in float32, with separate rounding of the product and the sum, truncated
// toward 0.
inline uint8_t BlendValue(int a, int b, float factor) {
  const float value = static_cast<float>(a) + factor * static_cast<float>(b - a);
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

// Writes value & mask, inverted (255 minus that) where value >= threshold. `threshold` is 0 to 256.
void MaskAndInvert(const ImageView& in, uint8_t mask, int threshold, ImageTarget out);
void MaskAndInvertScalar(const ImageView& in, uint8_t mask, int threshold, ImageTarget out);

// Writes table[value] for all channels.
void LookUp(const ImageView& in, const uint8_t table[256], ImageTarget out);
void LookUpScalar(const ImageView& in, const uint8_t table[256], ImageTarget out);

// Looks up each of three channels in its own table.
void LookUpChannels(const ImageView& in, const PointTables& tables, ImageTarget out);
void LookUpChannelsScalar(const ImageView& in, const PointTables& tables, ImageTarget out);

// The smallest and the largest value of each channel.
struct ChannelRange {
  uint8_t low[3], high[3];
};
ChannelRange FindRange(const ImageView& in);
ChannelRange FindRangeScalar(const ImageView& in);

// Luma (color.h) of three-channel images. SumLuma returns the sum over all pixels. SpreadLuma writes the luma to every
// channel. BlendLuma writes BlendValue(luma, value, factor): factor 0 gives the luma, 1 the input.
uint64_t SumLuma(const ImageView& in);
uint64_t SumLumaScalar(const ImageView& in);
void SpreadLuma(const ImageView& in, ImageTarget out);
void SpreadLumaScalar(const ImageView& in, ImageTarget out);
void BlendLuma(const ImageView& in, float factor, ImageTarget out);
void BlendLumaScalar(const ImageView& in, float factor, ImageTarget out);

// Smooths the middle one of three rows of `bytes` values, except its first and last pixel, which it does not write.
// Computes the 3 x 3 weighted mean: the center has weight 5, the sum is divided by 13 and rounded to nearest. Writes
// BlendValue(mean, value, factor): factor 0 gives the mean, 1 the input. Neighboring pixels are `channels` bytes apart.
// `out` must not overlap the input rows.
void BlendSmoothRow(const uint8_t* above, const uint8_t* row, const uint8_t* below, size_t bytes, size_t channels,
                    float factor, uint8_t* out);
void BlendSmoothRowScalar(const uint8_t* above, const uint8_t* row, const uint8_t* below, size_t bytes, size_t channels,
                          float factor, uint8_t* out);

// Converts three channels to Pillow's 8-bit HSV, adds `shift` to the hue modulo 256, and converts back. TurnHue calls
// TurnHueScalar on every target.
void TurnHue(const ImageView& in, uint8_t shift, ImageTarget out);
void TurnHueScalar(const ImageView& in, uint8_t shift, ImageTarget out);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_ADJUST_LOOPS_H_
