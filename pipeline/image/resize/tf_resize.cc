#include "pipeline/image/resize/tf_resize.h"

#include <algorithm>
#include <cmath>

#include "pipeline/image/resize/tf_resize_loops.h"

namespace penstock::image {
namespace {

// The values that ScaleAndTranslate computes for one axis from its sizes, in the same types.
struct Antialiased {
  float inverse_scale, kernel_scale;

  Antialiased(int in_size, int out_size) {
    const float scale = static_cast<float>(out_size) / static_cast<float>(in_size);
    inverse_scale = static_cast<float>(1.0 / static_cast<double>(scale));
    kernel_scale = std::max(inverse_scale, 1.0f);
  }
  float Center(int i) const { return (static_cast<float>(i) + 0.5f) * inverse_scale; }
  int MaxTaps(int in_size) const { return std::min(2 * static_cast<int>(std::ceil(kernel_scale)) + 1, in_size); }
  void Reach(int in_size, float center, int32_t* first, int32_t* last) const {
    const int begin = static_cast<int>(std::ceil(center - kernel_scale - 0.5f));
    const int end = static_cast<int>(std::floor(center + kernel_scale - 0.5f));
    *first = std::clamp(begin, 0, in_size - 1);
    *last = std::min(std::clamp(end, 0, in_size - 1), *first + MaxTaps(in_size) - 1);
  }
};

// Returns ResizeBilinear's position of an output among the inputs.
float HalfPixel(int in_size, int out_size, int i) {
  const float scale = static_cast<float>(in_size) / static_cast<float>(out_size);
  return (static_cast<float>(i) + 0.5f) * scale - 0.5f;
}

float ReachOfTwo(int in_size, int out_size, int i, int32_t* first, int32_t* last) {
  const float at = HalfPixel(in_size, out_size, i), below = std::floor(at);
  *first = std::clamp(static_cast<int>(below), 0, in_size - 1);
  *last = std::clamp(static_cast<int>(std::ceil(at)), 0, in_size - 1);
  return at - below;
}

// Rows may be read up to a whole pixel of four values past their last pixel.
constexpr size_t kRowSlack = 8;

}  // namespace

void TfReach(bool antialias, int in_size, int out_size, int i, int32_t* first, int32_t* last) {
  if (!antialias) {
    ReachOfTwo(in_size, out_size, i, first, last);
    return;
  }
  const Antialiased axis(in_size, out_size);
  axis.Reach(in_size, axis.Center(i), first, last);
}

size_t TfAxisBytes(bool antialias, int in_size, int out_size, int outputs) {
  const int taps = antialias ? Antialiased(in_size, out_size).MaxTaps(in_size) : 1;
  return static_cast<size_t>(outputs) * (static_cast<size_t>(taps) + 2) * 4;
}

void BuildTfAxis(bool antialias, int in_size, int out_size, int begin, int end, bool mirror, TfAxis* axis) {
  const size_t outputs = static_cast<size_t>(end - begin);
  const Antialiased kernel(in_size, out_size);
  axis->antialias = antialias;
  axis->taps = antialias ? kernel.MaxTaps(in_size) : 1;
  const size_t taps = static_cast<size_t>(axis->taps);
  axis->first.resize(outputs);
  axis->last.resize(outputs);
  axis->weight.assign(outputs * taps, 0.0f);
  const float inverse_kernel_scale = 1.0f / kernel.kernel_scale;
  for (size_t o = 0; o < outputs; ++o) {
    const int i = mirror ? end - 1 - static_cast<int>(o) : begin + static_cast<int>(o);
    if (!antialias) {
      axis->weight[o] = ReachOfTwo(in_size, out_size, i, &axis->first[o], &axis->last[o]);
      continue;
    }
    const float center = kernel.Center(i);
    kernel.Reach(in_size, center, &axis->first[o], &axis->last[o]);
    float* weights = axis->weight.data() + o * taps;
    const int count = axis->last[o] - axis->first[o] + 1;
    float sum = 0.0f;
    for (int t = 0; t < count; ++t) {
      const float distance = std::fabs((static_cast<float>(axis->first[o] + t) + 0.5f - center) * inverse_kernel_scale);
      weights[t] = distance < 1.0f ? 1.0f - distance : 0.0f;
      sum += weights[t];
    }
    const float inverse_sum = sum > 0.0f ? 1.0f / sum : 0.0f;
    for (int t = 0; t < count; ++t) weights[t] *= inverse_sum;
  }
}

void TfRows::Start(const TfAxis& columns, const TfAxis& rows, const ImageView& source) {
  columns_ = &columns;
  rows_ = &rows;
  source_ = source;
  held_row_[0] = held_row_[1] = -1;
  const size_t wide = source.row_bytes() + kRowSlack;
  const size_t narrow = columns.first.size() * static_cast<size_t>(source.channels) + kRowSlack;
  if (wide_.size() < wide) wide_.resize(wide);
  for (std::vector<float>& row : narrow_) {
    if (row.size() < narrow) row.resize(narrow);
  }
}

size_t TfRows::held_bytes() const {
  size_t floats = wide_.capacity();
  for (const std::vector<float>& row : narrow_) floats += row.capacity();
  return floats * sizeof(float);
}

size_t TfRows::Bytes(int source_width, int outputs, int channels) {
  const size_t per_pixel = static_cast<size_t>(channels);
  return (static_cast<size_t>(source_width) * per_pixel + 3 * static_cast<size_t>(outputs) * per_pixel +
          4 * kRowSlack) *
         sizeof(float);
}

// Returns a row of the source, resized. Keeps the last two requested rows.
const float* TfRows::Columns(int source_row) {
  for (int k = 0; k < 2; ++k) {
    if (held_row_[k] == source_row) return narrow_[k].data();
  }
  // Rows are requested from top to bottom, so the upper one is replaced.
  const int k = held_row_[0] <= held_row_[1] ? 0 : 1;
  TfWiden(source_.row(source_row), source_.row_bytes(), wide_.data());
  TfColumns(*columns_, source_.channels, wide_.data(), narrow_[k].data());
  held_row_[k] = source_row;
  return narrow_[k].data();
}

const float* TfRows::Row(int y) {
  const size_t i = static_cast<size_t>(y);
  float* out = narrow_[2].data();
  if (rows_->antialias) {
    const int32_t first = rows_->first[i];
    const size_t count = static_cast<size_t>(rows_->last[i] - first + 1);
    TfSumRows(source_.row(first), source_.stride, source_.row_bytes(),
              rows_->weight.data() + i * static_cast<size_t>(rows_->taps), count, wide_.data());
    TfColumns(*columns_, source_.channels, wide_.data(), out);
  } else {
    const float* upper = Columns(rows_->first[i]);
    const float* lower = Columns(rows_->last[i]);
    TfBlendRows(upper, lower, rows_->weight[i], columns_->first.size() * static_cast<size_t>(source_.channels), out);
  }
  return out;
}

}  // namespace penstock::image
