// Gaussian blur as torchvision's GaussianBlur of tensors: a separable kernel, the border reflected without the border
// pixel. 14-bit weights from our own exp, integer sums: the same bytes on every CPU, within 1 of torchvision's float32.
#ifndef PENSTOCK_PIPELINE_IMAGE_BLUR_H_
#define PENSTOCK_PIPELINE_IMAGE_BLUR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/image/adjust.h"
#include "pipeline/image/image_view.h"

namespace penstock {

constexpr int kMaxBlurSize = 127;

// Weights at distance 0 .. size / 2, as 14-bit fractions: the first and twice the others are 2^14. size is odd, from 1
// to kMaxBlurSize; sigma > 0.
std::vector<int16_t> GaussianWeights(int size, double sigma);

// Bytes at `scratch` that GaussianBlur needs.
size_t GaussianBlurBytes(int width, int channels, int size);

// `out` is not the memory of `in`. A kernel larger than the image is reflected again and again.
void GaussianBlur(const ImageView& in, const std::vector<int16_t>& weights, uint8_t* scratch, ImageTarget out);

// The passes of one row: sums over rows[0 .. 2 * radius] with 7 bits of fraction; and along it, values `channels`
// apart, of `row`, which has radius * channels values on either side of its `count`. (blur_loops.cc: vectors.)
void BlurRows(const uint8_t* const* rows, const int16_t* weights, size_t radius, size_t count, int16_t* out);
void BlurRowsScalar(const uint8_t* const* rows, const int16_t* weights, size_t radius, size_t count, int16_t* out);
void BlurAlong(const int16_t* row, const int16_t* weights, size_t radius, size_t channels, size_t count, uint8_t* out);
void BlurAlongScalar(const int16_t* row, const int16_t* weights, size_t radius, size_t channels, size_t count,
                     uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_BLUR_H_
