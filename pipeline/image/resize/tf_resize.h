// tf.image.resize(method=BILINEAR) of TensorFlow 2, with and without antialias: half-pixel centers, float32.
//
// Source of the formulas: TensorFlow's core/kernels/image/resize_bilinear_op.cc (no antialias: columns first, then
// rows, each a + (b - a) * t) and core/kernels/image/scale_and_translate_op.cc with the triangle kernel (antialias:
// rows first, then columns, weights normalized to 1). Every operation is rounded to float32 separately, and sums run
// from the first input to the last, so every CPU target gives the same bits.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_TF_RESIZE_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_TF_RESIZE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/image/image_view.h"

namespace penstock::image {

// One axis. Output i, counted from the first requested one, depends on the inputs first[i] .. last[i]:
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

// Sets the inputs that output `i` depends on when `in_size` pixels become `out_size`.
void TfReach(bool antialias, int in_size, int out_size, int i, int32_t* first, int32_t* last);

// Builds the table of outputs [begin, end), in reverse order if `mirror`.
void BuildTfAxis(bool antialias, int in_size, int out_size, int begin, int end, bool mirror, TfAxis* axis);

// Returns an upper bound of the bytes of such a table.
size_t TfAxisBytes(bool antialias, int in_size, int out_size, int outputs);

// Computes the result one row at a time. Refers to the caller's axes and image.
class TfRows {
 public:
  // Starts an image of 1 or 3 channels. Column 0 and row 0 of `source` are input 0 of the axes. All arguments must
  // outlive the calls of Row().
  void Start(const TfAxis& columns, const TfAxis& rows, const ImageView& source);
  // Returns row y of the result: columns.first.size() pixels, valid until the next call. `y` must not decrease from
  // call to call.
  const float* Row(int y);

  size_t held_bytes() const;
  static size_t Bytes(int source_width, int outputs, int channels);

 private:
  const float* Columns(int source_row);

  const TfAxis* columns_ = nullptr;
  const TfAxis* rows_ = nullptr;
  ImageView source_;
  std::vector<float> wide_;  // one row of the source
  // [0] and [1]: without antialias, the source rows that were resized most recently. [2]: the result.
  std::vector<float> narrow_[3];
  int held_row_[2] = {-1, -1};
};

// Rounds to the nearest integer, ties to even, like tf.cast(tf.round(x), tf.uint8), and clips to 0 .. 255.
void TfStore(const float* row, size_t values, uint8_t* out);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_TF_RESIZE_H_
