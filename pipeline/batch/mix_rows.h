// Mixing the rows of one group, in place. The same bytes on every machine: integers, or float32 with a fixed order of
// operations.
#ifndef PENSTOCK_PIPELINE_BATCH_MIX_ROWS_H_
#define PENSTOCK_PIPELINE_BATCH_MIX_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "pipeline/batch/dtype.h"
#include "pipeline/batch/mix_draw.h"

namespace penstock {

// A tensor seen as `planes` images of height x width pixels of `pixel_bytes` bytes each: HWC is one plane, CHW has one
// for each channel.
struct PixelLayout {
  int64_t planes = 1, height = 0, width = 0;
  size_t pixel_bytes = 0;
};

// Whether Blend knows the type: uint8, float16, bfloat16, float32.
bool CanBlend(DType dtype);

// a' = lambda * a + (1 - lambda) * b and b' = lambda * b + (1 - lambda) * a, for `count` elements. At any alignment.
//   uint8    rounded to nearest, halves up, with w = lambda in 15 bits: (a * w + b * (32768 - w) + 16384) >> 15
//   float32  with l = lambda rounded to float32 and m = 1 - l: two products and their sum, each rounded on its own
//   float16, bfloat16  as float32, then rounded to nearest even
void Blend(DType dtype, size_t count, double lambda, std::byte* a, std::byte* b);

// a and b change their pixels inside the box.
void SwapBox(const PixelLayout& layout, const MixBox& box, std::byte* a, std::byte* b);

// The soft label of an integer one, as float32: 1 - smoothing + smoothing / classes at `label`, smoothing / classes
// elsewhere; zeros throughout for a label that is not in [0, classes).
void WriteSoftLabel(int64_t label, size_t classes, float smoothing, std::byte* out);

// The integer at `from`, of a type that IsInteger.
int64_t LoadInteger(DType dtype, const std::byte* from);
// int8 to int64, uint8, uint16.
bool IsInteger(DType dtype);

// What is mixed, and how it lies in memory.
struct MixTensors {
  DType image = DType::kUint8;
  size_t image_elements = 0;
  PixelLayout pixels;  // for cutmix
  DType label = DType::kFloat32;
  size_t classes = 0;
};

// Mixes the rows of a whole group: row i with row size-1-i (one in the middle stays as it is). images[i] and
// labels[i] are row i's; labels are soft already.
void MixGroup(const MixTensors& tensors, const MixDraw& draw, std::span<std::byte* const> images,
              std::span<std::byte* const> labels);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_BATCH_MIX_ROWS_H_
