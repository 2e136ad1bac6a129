// Bytes of an image to normalized numbers, vectorized with Highway and dispatched at run time: (x * scale - mean) / std
// in float32, each operation rounded on its own, then to the output type as base/half.h rounds. Every target
// gives the bits of the scalar loop, which a test holds them to.
#ifndef PENSTOCK_PIPELINE_IMAGE_NORMALIZE_BYTES_H_
#define PENSTOCK_PIPELINE_IMAGE_NORMALIZE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

enum class FloatType : uint8_t { kFloat32, kFloat16, kBfloat16 };

struct BytesToFloats {
  float scale = 1.0f;
  std::vector<float> mean, std;  // one for each channel
  FloatType to = FloatType::kFloat32;
  // false: as the input, the channels of a pixel side by side; true: all pixels of a channel, then the next channel.
  bool channels_first = false;
};

// `in`: pixels * mean.size() bytes; `out`: as many numbers, little-endian, at any address. No overlap.
void NormalizeBytes(const BytesToFloats& how, const uint8_t* in, size_t pixels, uint8_t* out);
void NormalizeBytesScalar(const BytesToFloats& how, const uint8_t* in, size_t pixels, uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_NORMALIZE_BYTES_H_
