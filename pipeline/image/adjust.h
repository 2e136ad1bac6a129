// Changes of pixels where they lie: color, contrast, sharpness. Pillow's arithmetic, bit for bit where the function
// says "equal"; integer, or float without fused multiply-add, so that every CPU target gives the same bytes.
//
// All take `in` of 1 or 3 channels (RGB) and write as many dense pixels at `out`, rows at out.stride bytes. `out` may
// be the very memory of `in` with the same stride, unless a function says otherwise. Gray images: what is about
// color alone copies them.
#ifndef PENSTOCK_PIPELINE_IMAGE_ADJUST_H_
#define PENSTOCK_PIPELINE_IMAGE_ADJUST_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/image_view.h"

namespace penstock {

struct ImageTarget {
  uint8_t* data = nullptr;
  size_t stride = 0;  // bytes from one row to the next
};

// The same pixels.
void CopyPixels(const ImageView& in, ImageTarget out);

// ---- One value at a time. Equal to Pillow's ImageOps.
void Posterize(const ImageView& in, int bits, ImageTarget out);      // keeps the highest 0..8 bits
void Solarize(const ImageView& in, int threshold, ImageTarget out);  // values >= threshold become 255 - value
void Invert(const ImageView& in, ImageTarget out);
void Equalize(const ImageView& in, ImageTarget out);      // each channel by its own histogram
void Autocontrast(const ImageView& in, ImageTarget out);  // cutoff 0, each channel by itself
// 255 * (x / 255) ^ gamma, rounded to nearest; gamma > 0. Our own power (base/portable_math.h).
void AdjustGamma(const ImageView& in, double gamma, ImageTarget out);

// ---- Blends with a degenerate image: Pillow's ImageEnhance with float32 factor >= 0; 1 changes nothing.
void AdjustBrightness(const ImageView& in, float factor, ImageTarget out);  // with black
void AdjustContrast(const ImageView& in, float factor, ImageTarget out);    // with the mean of its luma, rounded
void AdjustSaturation(const ImageView& in, float factor, ImageTarget out);  // with its luma ("Color")
void AdjustSharpness(const ImageView& in, float factor, ImageTarget out);   // with Pillow's SMOOTH; not in place

// ---- Color.
void ToGrayscale(const ImageView& in, ImageTarget out);  // luma in every channel; equal to Pillow's "L"
// torchvision's adjust_hue of PIL images: by way of HSV in 8 bits, which also at turn 0 loses a little; turn in
// [-0.5, 0.5].
void AdjustHue(const ImageView& in, double turn, ImageTarget out);
// Channel c of the result is channel order[c].
void ShuffleChannels(const ImageView& in, const int order[3], ImageTarget out);
// Adds offset[c] to channel c, rounded to nearest, clamped.
void AddToChannels(const ImageView& in, const float offset[3], ImageTarget out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_ADJUST_H_
