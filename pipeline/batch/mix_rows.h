// Mixes the rows of one group in place. The arithmetic uses integers, or float32 with a fixed order of operations, so
// every machine gives the same bytes.
#ifndef PENSTOCK_PIPELINE_BATCH_MIX_ROWS_H_
#define PENSTOCK_PIPELINE_BATCH_MIX_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "pipeline/batch/dtype.h"
#include "pipeline/batch/mix_draw.h"

namespace penstock::batch {

// A tensor as `planes` images of height x width pixels with `pixel_bytes` bytes each. HWC has one plane; CHW has one
// per channel.
struct PixelLayout {
  int64_t planes = 1, height = 0, width = 0;
  size_t pixel_bytes = 0;
};

// Returns whether Blend supports the type: uint8, float16, bfloat16, float32.
bool CanBlend(DType dtype);

// Computes a' = lambda * a + (1 - lambda) * b and b' = lambda * b + (1 - lambda) * a for `count` elements at any
// alignment.
//   uint8    rounded to nearest, halves up, with w = lambda in 15 bits: (a * w + b * (32768 - w) + 16384) >> 15
//   float32  with l = lambda rounded to float32 and m = 1 - l: two products and their sum, each rounded separately
//   float16, bfloat16  as float32, then rounded to nearest even
void Blend(DType dtype, size_t count, double lambda, std::byte* a, std::byte* b);

// Swaps the pixels of a and b inside the box.
void SwapBox(const PixelLayout& layout, const MixBox& box, std::byte* a, std::byte* b);

// Writes the soft label of an integer label as float32: 1 - smoothing + smoothing / classes at `label`, and smoothing /
// classes elsewhere. Writes zeros for a label outside [0, classes).
void WriteSoftLabel(int64_t label, size_t classes, float smoothing, std::byte* out);

// Returns the integer at `from`, or -1 if it is over the range of int64. `dtype` must satisfy IsInteger.
int64_t LoadInteger(DType dtype, const std::byte* from);
// Returns whether the type is int8 to int64 or uint8 to uint64.
bool IsInteger(DType dtype);

// The mixed tensors and their memory layout.
struct MixTensors {
  DType image = DType::kUint8;
  size_t image_elements = 0;
  PixelLayout pixels;  // for cutmix
  DType label = DType::kFloat32;
  size_t classes = 0;
};

// Mixes the rows of a whole group of at least one row: row i with row size-1-i. A row in the middle stays unchanged.
// images[i] and labels[i] belong to row i; labels must be soft. With lambda 1, all rows stay unchanged.
void MixGroup(const MixTensors& tensors, const MixDraw& draw, std::span<std::byte* const> images,
              std::span<std::byte* const> labels);

}  // namespace penstock::batch

#endif  // PENSTOCK_PIPELINE_BATCH_MIX_ROWS_H_
