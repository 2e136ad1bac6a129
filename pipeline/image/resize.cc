#include "pipeline/image/resize.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"
#include "pipeline/base/check.h"
#include "pipeline/image/resize_passes.h"
#include "pipeline/image/tf_resize.h"

namespace penstock {
namespace {

struct Span {
  int begin, end;
};

bool IsTf(ResizeMethod method) {
  return method == ResizeMethod::kTfBilinear || method == ResizeMethod::kTfBilinearAntialias;
}

bool Antialias(const ResizePlan& plan) { return plan.method == ResizeMethod::kTfBilinearAntialias; }

// The inputs that outputs [begin, begin + length) of one axis need.
Span InputsNeeded(const ResizePlan& plan, int in_size, int out_size, int begin, int length) {
  int32_t first = 0, count = 0, last = 0;
  if (IsTf(plan.method)) {
    TfReach(Antialias(plan), in_size, out_size, begin + length - 1, &first, &last);
    const int end = last + 1;
    TfReach(Antialias(plan), in_size, out_size, begin, &first, &last);
    return {first, end};
  }
  if (in_size == out_size) return {begin, begin + length};
  FilterReach(plan.filter, in_size, out_size, begin, &first, &count);
  FilterReach(plan.filter, in_size, out_size, begin + length - 1, &last, &count);
  return {first, last + count};
}

bool NeedsWholeBox(const ResizePlan& plan) {
  if (IsTf(plan.method)) return false;
  return plan.method != ResizeMethod::kPil || plan.filter == ResizeFilter::kNearest;
}

// Which pass comes first decides the last bit, because the image between them has 8 bits. As Pillow 13 (its
// ImagingResampleInner): the rows, when the height shrinks by more than twice what the width does. Pillow before
// 13 always took the columns first.
bool RowsFirst(const ResizePlan& plan) {
  const int64_t shorter = int64_t{plan.box_height} - plan.out_height;
  const int64_t narrower = int64_t{plan.box_width} - plan.out_width;
  return shorter > 0 && shorter > 2 * narrower;
}

void CopyPixel(const uint8_t* from, size_t channels, uint8_t* to) {
  for (size_t c = 0; c < channels; ++c) to[c] = from[c];
}

// Four bytes at a time: the one too many is overwritten by the next pixel.
void MirrorRgbRow(const uint8_t* from, int width, uint8_t* to) {
  from += size_t{3} * static_cast<size_t>(width - 1);
  CopyPixel(from, 3, to);  // the last pixel: nothing may be read behind it
  if (width == 1) return;
  for (int x = 1; x < width - 1; ++x) {
    from -= 3;
    to += 3;
    std::memcpy(to, from, 4);
  }
  CopyPixel(from - 3, 3, to + 3);
}

void CopyRows(const ImageView& image, bool mirror, uint8_t* out, size_t stride) {
  for (int y = 0; y < image.height; ++y, out += stride) {
    const uint8_t* from = image.row(y);
    if (!mirror) {
      std::memcpy(out, from, image.row_bytes());
    } else if (image.channels == 3) {
      MirrorRgbRow(from, image.width, out);
    } else {
      std::reverse_copy(from, from + image.width, out);
    }
  }
}

}  // namespace

struct Resizer::State {
  FilterTable columns, rows;
  PairTable column_pairs, row_pairs;
  std::vector<int32_t> column_index, row_index;
  std::vector<uint8_t> padded, between;
  TfAxis tf_columns, tf_rows;
  TfRows tf;

  void RunNearest(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);
  // The passes over the part of the box that starts at `offset`.
  void FilterColumns(const ResizePlan& plan, int offset, const ImageView& image, uint8_t* out, size_t stride);
  void FilterRows(const ResizePlan& plan, int offset, const ImageView& image, uint8_t* out, size_t stride);
  // A view of `between`, made large enough.
  ImageView Between(int width, int height, int channels);
  void RunPil(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);
  void RunTf(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);
  absl::Status RunOpencv(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);
};

Rect SourceNeeded(const ResizePlan& plan) {
  const Rect& window = plan.window;
  if (NeedsWholeBox(plan)) return {0, 0, plan.box_width, plan.box_height};
  const Span x = InputsNeeded(plan, plan.box_width, plan.out_width, window.x, window.width);
  const Span y = InputsNeeded(plan, plan.box_height, plan.out_height, window.y, window.height);
  return {x.begin, y.begin, x.end - x.begin, y.end - y.begin};
}

size_t ResizeBytes(const ResizePlan& plan, int channels) {
  const size_t width = static_cast<size_t>(plan.window.width);
  const size_t box_row = static_cast<size_t>(plan.box_width) * static_cast<size_t>(channels);
  const size_t out_row = static_cast<size_t>(plan.out_width) * static_cast<size_t>(channels);
  if (IsTf(plan.method)) {
    return 2 * (TfAxisBytes(Antialias(plan), plan.box_width, plan.out_width, plan.window.width) +
                TfAxisBytes(Antialias(plan), plan.box_height, plan.out_height, plan.window.height) +
                TfRows::Bytes(plan.box_width, plan.window.width, channels));
  }
  if (plan.method != ResizeMethod::kPil) {
    // The whole result, and OpenCV's rows and tables.
    return out_row * static_cast<size_t>(plan.out_height) + 64 * (box_row + out_row) + 65536;
  }
  const size_t tables = 2 * (FilterTableBytes(plan.filter, plan.box_width, plan.out_width, plan.window.width) +
                             FilterTableBytes(plan.filter, plan.box_height, plan.out_height, plan.window.height)) +
                        static_cast<size_t>(plan.window.width + plan.window.height) * 64;
  // Vectors may hold up to twice what was asked for.
  return 2 *
         (tables + width * static_cast<size_t>(channels) * static_cast<size_t>(plan.box_height) + 4 * (box_row + 512));
}

Resizer::Resizer() : state_(std::make_unique<State>()) {
  // Parallelism is across rows of a batch; OpenCV must not start threads of its own.
  static const bool single_threaded = (cv::setNumThreads(1), true);
  (void)single_threaded;
}
Resizer::~Resizer() = default;

void Resizer::Clear() { state_ = std::make_unique<State>(); }

size_t Resizer::held_bytes() const {
  const State& s = *state_;
  return s.columns.held_bytes() + s.rows.held_bytes() + s.column_pairs.held_bytes() + s.row_pairs.held_bytes() +
         (s.column_index.capacity() + s.row_index.capacity()) * sizeof(int32_t) + s.padded.capacity() +
         s.between.capacity() + s.tf_columns.held_bytes() + s.tf_rows.held_bytes() + s.tf.held_bytes();
}

void Resizer::State::RunNearest(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out,
                                size_t stride) {
  const Rect& window = plan.window;
  BuildNearestTable(plan.box_width, plan.out_width, window.x, window.x + window.width, plan.flip, &column_index);
  BuildNearestTable(plan.box_height, plan.out_height, window.y, window.y + window.height, false, &row_index);
  const size_t channels = static_cast<size_t>(source.channels);
  for (const int32_t y : row_index) {
    const uint8_t* from = source.row(y - at.y);
    uint8_t* to = out;
    for (const int32_t x : column_index) {
      CopyPixel(from + static_cast<size_t>(x - at.x) * channels, channels, to);
      to += channels;
    }
    out += stride;
  }
}

void Resizer::State::FilterColumns(const ResizePlan& plan, int offset, const ImageView& image, uint8_t* out,
                                   size_t stride) {
  const Rect& window = plan.window;
  BuildFilterTable(plan.filter, plan.box_width, plan.out_width, window.x, window.x + window.width, plan.flip, &columns);
  for (int32_t& first : columns.first) first -= offset;
  BuildPairTable(columns, HorizontalGroup(image.channels), &column_pairs);
  HorizontalPass(columns, column_pairs, image, out, stride, &padded);
}

void Resizer::State::FilterRows(const ResizePlan& plan, int offset, const ImageView& image, uint8_t* out,
                                size_t stride) {
  const Rect& window = plan.window;
  BuildFilterTable(plan.filter, plan.box_height, plan.out_height, window.y, window.y + window.height, false, &rows);
  for (int32_t& first : rows.first) first -= offset;
  BuildPairTable(rows, 1, &row_pairs);
  VerticalPass(rows, row_pairs, image, out, stride);
}

ImageView Resizer::State::Between(int width, int height, int channels) {
  const size_t row = static_cast<size_t>(width) * static_cast<size_t>(channels);
  const size_t bytes = row * static_cast<size_t>(height);
  if (between.size() < bytes) between.resize(bytes);
  return {between.data(), width, height, channels, row};
}

void Resizer::State::RunPil(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out,
                            size_t stride) {
  const Rect& window = plan.window;
  const Rect needed = SourceNeeded(plan);
  const int channels = source.channels;
  // Equal sizes are no pass: every filter's weights are then 1 and 0.
  const bool filter_columns = plan.box_width != plan.out_width;
  const bool filter_rows = plan.box_height != plan.out_height;
  const ImageView image = source.Crop({needed.x - at.x, needed.y - at.y, needed.width, needed.height});
  if (filter_columns && filter_rows) {
    if (RowsFirst(plan)) {
      const ImageView half = Between(needed.width, window.height, channels);
      FilterRows(plan, needed.y, image, between.data(), half.stride);
      FilterColumns(plan, needed.x, half, out, stride);
    } else {
      const ImageView half = Between(window.width, needed.height, channels);
      FilterColumns(plan, needed.x, image, between.data(), half.stride);
      FilterRows(plan, needed.y, half, out, stride);
    }
  } else if (filter_columns) {
    FilterColumns(plan, needed.x, image, out, stride);
  } else if (!filter_rows) {
    CopyRows(image, plan.flip, out, stride);
  } else if (plan.flip) {
    const ImageView half = Between(needed.width, needed.height, channels);
    CopyRows(image, true, between.data(), half.stride);
    FilterRows(plan, needed.y, half, out, stride);
  } else {
    FilterRows(plan, needed.y, image, out, stride);
  }
}

void Resizer::State::RunTf(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out,
                           size_t stride) {
  const Rect& window = plan.window;
  const bool antialias = Antialias(plan);
  BuildTfAxis(antialias, plan.box_width, plan.out_width, window.x, window.x + window.width, plan.flip, &tf_columns);
  BuildTfAxis(antialias, plan.box_height, plan.out_height, window.y, window.y + window.height, false, &tf_rows);
  const Rect needed = SourceNeeded(plan);
  for (std::vector<int32_t>* columns_of : {&tf_columns.first, &tf_columns.last}) {
    for (int32_t& x : *columns_of) x -= needed.x;
  }
  for (std::vector<int32_t>* rows_of : {&tf_rows.first, &tf_rows.last}) {
    for (int32_t& y : *rows_of) y -= needed.y;
  }
  tf.Start(tf_columns, tf_rows, source.Crop({needed.x - at.x, needed.y - at.y, needed.width, needed.height}));
  const size_t values = static_cast<size_t>(window.width) * static_cast<size_t>(source.channels);
  for (int y = 0; y < window.height; ++y, out += stride) TfStore(tf.Row(y), values, out);
}

absl::Status Resizer::State::RunOpencv(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out,
                                       size_t stride) {
  const Rect& window = plan.window;
  const size_t channels = static_cast<size_t>(source.channels);
  const int type = CV_MAKETYPE(CV_8U, source.channels);
  const ImageView box = source.Crop({-at.x, -at.y, plan.box_width, plan.box_height});
  const bool direct = !plan.flip && window == Rect{0, 0, plan.out_width, plan.out_height};
  const size_t row_bytes = static_cast<size_t>(plan.out_width) * channels;
  uint8_t* to = out;
  size_t to_stride = stride;
  if (!direct) {
    const size_t bytes = row_bytes * static_cast<size_t>(plan.out_height);
    if (between.size() < bytes) between.resize(bytes);
    to = between.data();
    to_stride = row_bytes;
  }
  try {
    // OpenCV only reads the input, but has no const view of it.
    const cv::Mat in(box.height, box.width, type, const_cast<uint8_t*>(box.data), box.stride);
    cv::Mat resized(plan.out_height, plan.out_width, type, to, to_stride);
    cv::resize(in, resized, resized.size(), 0, 0,
               plan.method == ResizeMethod::kOpencvArea ? cv::INTER_AREA : cv::INTER_LINEAR);
    PS_CHECK(resized.data == to);
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("cv::resize: ", e.what()));
  }
  if (direct) return absl::OkStatus();
  const ImageView result{to, plan.out_width, plan.out_height, source.channels, to_stride};
  CopyRows(result.Crop(window), plan.flip, out, stride);
  return absl::OkStatus();
}

absl::Status Resizer::Run(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out,
                          size_t stride) {
  const Rect needed = SourceNeeded(plan);
  PS_CHECK(plan.window.Inside(plan.out_width, plan.out_height));
  PS_CHECK(source.width == at.width && source.height == at.height);
  PS_CHECK((Rect{needed.x - at.x, needed.y - at.y, needed.width, needed.height}.Inside(at.width, at.height)));
  if (IsTf(plan.method)) {
    state_->RunTf(plan, source, at, out, stride);
    return absl::OkStatus();
  }
  if (plan.method != ResizeMethod::kPil) return state_->RunOpencv(plan, source, at, out, stride);
  if (plan.filter == ResizeFilter::kNearest) {
    state_->RunNearest(plan, source, at, out, stride);
  } else {
    state_->RunPil(plan, source, at, out, stride);
  }
  return absl::OkStatus();
}

}  // namespace penstock
