// Gaussian blur like torchvision's GaussianBlur for tensors: a separable kernel, with the border reflected without the
// border pixel. Weights are 14-bit fractions from the portable exp, and sums are integers. Every CPU gives the same
// bytes, within 1 of torchvision's float32 result.
#ifndef PENSTOCK_PIPELINE_IMAGE_BLUR_H_
#define PENSTOCK_PIPELINE_IMAGE_BLUR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/image/adjust.h"
#include "pipeline/image/image_view.h"

namespace penstock::image {

constexpr int kMaxBlurSize = 127;

// Returns the weights at distances 0 to size / 2 as 14-bit fractions. The first weight plus twice the others is 2^14.
// `size` is odd, from 1 to kMaxBlurSize; sigma > 0.
std::vector<int16_t> GaussianWeights(int size, double sigma);

// Returns the number of bytes that GaussianBlur needs at `scratch`.
size_t GaussianBlurBytes(int width, int channels, int size);

// Blurs `in`, with 1 or 3 channels, into `out`, which must not be the memory of `in`. `scratch` must be aligned for
// int16_t. A kernel larger than the image reflects repeatedly.
void GaussianBlur(const ImageView& in, const std::vector<int16_t>& weights, uint8_t* scratch, ImageTarget out);

// The two passes of a row (vectorized in blur_loops.cc). BlurRows sums over rows[0 .. 2 * radius] and keeps 7 bits of
// fraction. BlurAlong sums along `row`, whose neighboring values are `channels` apart. `row` has radius * channels
// values on either side of its `count` values.
void BlurRows(const uint8_t* const* rows, const int16_t* weights, size_t radius, size_t count, int16_t* out);
void BlurRowsScalar(const uint8_t* const* rows, const int16_t* weights, size_t radius, size_t count, int16_t* out);
void BlurAlong(const int16_t* row, const int16_t* weights, size_t radius, size_t channels, size_t count, uint8_t* out);
void BlurAlongScalar(const int16_t* row, const int16_t* weights, size_t radius, size_t channels, size_t count,
                     uint8_t* out);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_BLUR_H_
