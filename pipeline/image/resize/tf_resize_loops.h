// The inner loops of TF_BILINEAR, vectorized with Highway and dispatched at run time. TfColumns also has a scalar
// version; a test verifies that both give the same bits.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_TF_RESIZE_LOOPS_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_TF_RESIZE_LOOPS_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/resize/tf_resize.h"

namespace penstock::image {

// Computes out[x] = in[x] for `values` bytes.
void TfWiden(const uint8_t* in, size_t values, float* out);

// Computes out[x] = the sum over t < count of in[t * stride + x] * weight[t].
void TfSumRows(const uint8_t* in, size_t stride, size_t values, const float* weight, size_t count, float* out);

// Computes out[x] = a[x] + (b[x] - a[x]) * t.
void TfBlendRows(const float* a, const float* b, float t, size_t values, float* out);

// Applies the axis to one row of interleaved pixels. With 3 channels, `in` and `out` need one more value after the last
// pixel.
void TfColumns(const TfAxis& axis, int channels, const float* in, float* out);
void TfColumnsScalar(const TfAxis& axis, int channels, const float* in, float* out);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_TF_RESIZE_LOOPS_H_
