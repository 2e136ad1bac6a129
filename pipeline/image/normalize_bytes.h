// Converts image bytes to normalized numbers, vectorized with Highway and dispatched at run time. The formula is (x *
// scale - mean) / std in float32. Each operation is rounded separately, and the result is rounded to the output type
// as in base/half.h. Every target gives the bits of the scalar loop, which a test verifies.
#ifndef PENSTOCK_PIPELINE_IMAGE_NORMALIZE_BYTES_H_
#define PENSTOCK_PIPELINE_IMAGE_NORMALIZE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::image {

enum class FloatType : uint8_t { kFloat32, kFloat16, kBfloat16 };

struct BytesToFloats {
  float scale = 1.0f;
  std::vector<float> mean, std;  // one per channel
  FloatType to = FloatType::kFloat32;
  // false: the channels of a pixel stay adjacent, as in the input. true: all pixels of a channel, then the next
  // channel.
  bool channels_first = false;
};

// Normalizes pixels * mean.size() bytes at `in` and writes as many little-endian numbers to `out`, which needs no
// alignment. The memory must not overlap.
void NormalizeBytes(const BytesToFloats& how, const uint8_t* in, size_t pixels, uint8_t* out);
void NormalizeBytesScalar(const BytesToFloats& how, const uint8_t* in, size_t pixels, uint8_t* out);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_NORMALIZE_BYTES_H_
