// tf.image.resize(method=BILINEAR) of TensorFlow 2, with and without antialias: half-pixel centers, float32.
//
// Source of the formulas: TensorFlow's core/kernels/image/resize_bilinear_op.cc (no antialias: columns first, then
// rows, each a + (b - a) * t) and core/kernels/image/scale_and_translate_op.cc with the triangle kernel (antialias:
// rows first, then columns, weights normalized to 1). Every operation is rounded to float32 on its own and sums go from
// the first input to the last, so that each CPU target gives the same bits.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_TF_RESIZE_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_TF_RESIZE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/image/image_view.h"

namespace penstock {

// One axis. Output i (counted from the first one asked for) is made of the inputs first[i] .. last[i]:
//   antialias: the sum of input[first[i] + t] * weight[i * taps + t];
//   else:      input[first[i]] + (input[last[i]] - input[first[i]]) * weight[i], where last[i] <= first[i] + 1.
struct TfAxis {
  bool antialias = false;
  int taps = 1;
  std::vector<int32_t> first, last;
  std::vector<float> weight;

  size_t held_bytes() const {
    return (first.capacity() + last.capacity()) * sizeof(int32_t) + weight.capacity() * sizeof(float);
  }
};

// The inputs that output `i` is made of when `in_size` pixels become `out_size`.
void TfReach(bool antialias, int in_size, int out_size, int i, int32_t* first, int32_t* last);

// The table of outputs [begin, end); mirrored (the last one first) when `mirror`.
void BuildTfAxis(bool antialias, int in_size, int out_size, int begin, int end, bool mirror, TfAxis* axis);

// Upper bound of the bytes of such a table.
size_t TfAxisBytes(bool antialias, int in_size, int out_size, int outputs);

// Makes one row of the result at a time. The caller's axes and image are only looked at while it runs.
class TfRows {
 public:
  // `source`: its column and row 0 are those that the axes count from; 1 or 3 channels. All must outlive the Row calls.
  void Start(const TfAxis& columns, const TfAxis& rows, const ImageView& source);
  // Row y of the result: columns.first.size() pixels; valid until the next call.
  const float* Row(int y);

  size_t held_bytes() const;
  static size_t Bytes(int source_width, int outputs, int channels);

 private:
  const float* Columns(int source_row);

  const TfAxis* columns_ = nullptr;
  const TfAxis* rows_ = nullptr;
  ImageView source_;
  std::vector<float> wide_;  // one row of the source
  // Without antialias: the source rows that were resized last. With it: [2] only.
  std::vector<float> narrow_[3];
  int held_row_[2] = {-1, -1};
};

// 8 bits: to nearest, ties to even, as tf.cast(tf.round(x), tf.uint8), and clipped to 0 .. 255.
void TfStore(const float* row, size_t values, uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_TF_RESIZE_H_
