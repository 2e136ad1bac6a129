// The loops inside adjust.h's functions, over all pixels of an image. Each has a vector version (adjust_loops.cc, by
// run-time dispatch) and a scalar twin that gives the same bytes (adjust_scalar.cc): what small CPUs run, and what
// tests hold the other against.
//
// `in` and `out` may be the same memory with the same stride, unless a function says otherwise.
#ifndef PENSTOCK_PIPELINE_IMAGE_ADJUST_LOOPS_H_
#define PENSTOCK_PIPELINE_IMAGE_ADJUST_LOOPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "pipeline/image/adjust.h"
#include "pipeline/image/image_view.h"

namespace penstock {

// What a value becomes, for each channel.
struct PointTables {
  alignas(16) uint8_t of[3][256];
};

// Pillow's ImagingBlend of a with b: float32, a product and a sum of their own rounding, cut toward 0.
inline uint8_t BlendValue(int a, int b, float factor) {
  const float value = static_cast<float>(a) + factor * static_cast<float>(b - a);
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

// (value & mask), then 255 less that where value >= threshold (0 to 256).
void MaskAndInvert(const ImageView& in, uint8_t mask, int threshold, ImageTarget out);
void MaskAndInvertScalar(const ImageView& in, uint8_t mask, int threshold, ImageTarget out);

// table[value], for all channels.
void LookUp(const ImageView& in, const uint8_t table[256], ImageTarget out);
void LookUpScalar(const ImageView& in, const uint8_t table[256], ImageTarget out);

// Three channels, each by its own table.
void LookUpChannels(const ImageView& in, const PointTables& tables, ImageTarget out);
void LookUpChannelsScalar(const ImageView& in, const PointTables& tables, ImageTarget out);

// Smallest and largest value of each channel.
struct ChannelRange {
  uint8_t low[3], high[3];
};
ChannelRange FindRange(const ImageView& in);
ChannelRange FindRangeScalar(const ImageView& in);

// The luma (color.h) of three channels: its sum; in every channel; blended with the pixel.
uint64_t SumLuma(const ImageView& in);
uint64_t SumLumaScalar(const ImageView& in);
void SpreadLuma(const ImageView& in, ImageTarget out);
void SpreadLumaScalar(const ImageView& in, ImageTarget out);
void BlendLuma(const ImageView& in, float factor, ImageTarget out);
void BlendLumaScalar(const ImageView& in, float factor, ImageTarget out);

// Of three rows of `bytes` values, neighbors `channels` apart: the middle row's values but for the first and the last
// pixel, blended from their 3 x 3 means with weight 5 in the middle (over 13, rounded to nearest). `out` is none of
// them.
void BlendSmoothRow(const uint8_t* above, const uint8_t* row, const uint8_t* below, size_t bytes, size_t channels,
                    float factor, uint8_t* out);
void BlendSmoothRowScalar(const uint8_t* above, const uint8_t* row, const uint8_t* below, size_t bytes, size_t channels,
                          float factor, uint8_t* out);

// Three channels through Pillow's 8-bit HSV and back, `shift` added to the hue modulo 256.
void TurnHue(const ImageView& in, uint8_t shift, ImageTarget out);
void TurnHueScalar(const ImageView& in, uint8_t shift, ImageTarget out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_ADJUST_LOOPS_H_
