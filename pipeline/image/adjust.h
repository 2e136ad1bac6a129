// Pixel-wise changes of color, contrast and sharpness. Functions documented as "equal" match Pillow bit for bit. All
// arithmetic is integer, or float without fused multiply-add, so every CPU target gives the same bytes.
//
// Each function takes `in` with 1 or 3 channels (RGB). It writes the same number of dense pixels to `out`, in rows at
// out.stride bytes. Unless a function states otherwise, `out` may be the memory of `in` with the same stride. Functions
// that change only color copy gray images.
#ifndef PENSTOCK_PIPELINE_IMAGE_ADJUST_H_
#define PENSTOCK_PIPELINE_IMAGE_ADJUST_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/image_view.h"

namespace penstock::image {

struct ImageTarget {
  uint8_t* data = nullptr;
  size_t stride = 0;  // bytes from one row to the next
};

// Copies the pixels of `in` to `out`.
void CopyPixels(const ImageView& in, ImageTarget out);

// ---- Changes of single values. Equal to Pillow's ImageOps.
void Posterize(const ImageView& in, int bits, ImageTarget out);      // keeps the highest 0..8 bits
void Solarize(const ImageView& in, int threshold, ImageTarget out);  // values >= threshold become 255 - value
void Invert(const ImageView& in, ImageTarget out);
void Equalize(const ImageView& in, ImageTarget out);      // histogram per channel
void Autocontrast(const ImageView& in, ImageTarget out);  // cutoff 0, each channel separately
// Maps x to 255 * (x / 255) ^ gamma, rounded to nearest. Requires gamma > 0. Uses the portable power function of
// base/portable_math.h.
void AdjustGamma(const ImageView& in, double gamma, ImageTarget out);

// ---- Blends with a degenerate image: Pillow's ImageEnhance with a float32 factor >= 0. Factor 1 changes nothing.
void AdjustBrightness(const ImageView& in, float factor, ImageTarget out);  // blends with black
void AdjustContrast(const ImageView& in, float factor, ImageTarget out);    // blends with the mean of its luma, rounded
void AdjustSaturation(const ImageView& in, float factor, ImageTarget out);  // blends with its luma ("Color")
void AdjustSharpness(const ImageView& in, float factor, ImageTarget out);   // blends with Pillow's SMOOTH; not in place

// ---- Color.
void ToGrayscale(const ImageView& in, ImageTarget out);  // writes luma to every channel; equal to Pillow's "L"
// Shifts the hue by `turn`, in [-0.5, 0.5], as torchvision's adjust_hue for PIL images does. It converts to 8-bit HSV
// and back, which loses some precision even at turn 0.
void AdjustHue(const ImageView& in, double turn, ImageTarget out);
// Writes channel order[c] of `in` to channel c of `out`.
void ShuffleChannels(const ImageView& in, const int order[3], ImageTarget out);
// Adds offset[c] to channel c. Results are rounded to nearest and clamped to 0..255.
void AddToChannels(const ImageView& in, const float offset[3], ImageTarget out);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_ADJUST_H_
