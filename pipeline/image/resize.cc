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

namespace penstock {
namespace {

struct Span {
  int begin, end;
};

// The inputs that outputs [begin, begin + length) of one axis need.
Span InputsNeeded(ResizeFilter filter, int in_size, int out_size, int begin, int length) {
  if (in_size == out_size) return {begin, begin + length};
  int32_t first = 0, count = 0, last = 0;
  FilterReach(filter, in_size, out_size, begin, &first, &count);
  FilterReach(filter, in_size, out_size, begin + length - 1, &last, &count);
  return {first, last + count};
}

bool NeedsWholeBox(const ResizePlan& plan) {
  return plan.method != ResizeMethod::kPil || plan.filter == ResizeFilter::kNearest;
}

void CopyPixel(const uint8_t* from, size_t channels, uint8_t* to) {
  for (size_t c = 0; c < channels; ++c) to[c] = from[c];
}

}  // namespace

struct Resizer::State {
  FilterTable columns, rows;
  PairTable column_pairs, row_pairs;
  std::vector<int32_t> column_index, row_index;
  std::vector<uint8_t> padded, between;

  void RunNearest(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);
  void RunPil(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);
  absl::Status RunOpencv(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);
};

Rect SourceNeeded(const ResizePlan& plan) {
  const Rect& window = plan.window;
  if (NeedsWholeBox(plan)) return {0, 0, plan.box_width, plan.box_height};
  const Span x = InputsNeeded(plan.filter, plan.box_width, plan.out_width, window.x, window.width);
  const Span y = InputsNeeded(plan.filter, plan.box_height, plan.out_height, window.y, window.height);
  return {x.begin, y.begin, x.end - x.begin, y.end - y.begin};
}

size_t ResizeBytes(const ResizePlan& plan, int channels) {
  const size_t width = static_cast<size_t>(plan.window.width);
  const size_t box_row = static_cast<size_t>(plan.box_width) * static_cast<size_t>(channels);
  const size_t out_row = static_cast<size_t>(plan.out_width) * static_cast<size_t>(channels);
  if (plan.method != ResizeMethod::kPil) {
    // The whole result, and OpenCV's rows and tables.
    return out_row * static_cast<size_t>(plan.out_height) + 64 * (box_row + out_row) + 65536;
  }
  const size_t tables = 2 * (FilterTableBytes(plan.filter, plan.box_width, plan.out_width, plan.window.width) +
                             FilterTableBytes(plan.filter, plan.box_height, plan.out_height, plan.window.height)) +
                        static_cast<size_t>(plan.window.width + plan.window.height) * 64;
  // Vectors may hold up to twice what was asked for.
  return 2 *
         (tables + width * static_cast<size_t>(channels) * static_cast<size_t>(plan.box_height) + 2 * (box_row + 512));
}

Resizer::Resizer() : state_(std::make_unique<State>()) {}
Resizer::~Resizer() = default;

void Resizer::Clear() { state_ = std::make_unique<State>(); }

size_t Resizer::held_bytes() const {
  const State& s = *state_;
  return s.columns.held_bytes() + s.rows.held_bytes() + s.column_pairs.held_bytes() + s.row_pairs.held_bytes() +
         (s.column_index.capacity() + s.row_index.capacity()) * sizeof(int32_t) + s.padded.capacity() +
         s.between.capacity();
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

void Resizer::State::RunPil(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out,
                            size_t stride) {
  const Rect& window = plan.window;
  const Rect needed = SourceNeeded(plan);
  const size_t channels = static_cast<size_t>(source.channels);
  // Equal sizes are no pass: every filter's weights are then 1 and 0.
  const bool filter_columns = plan.box_width != plan.out_width;
  const bool filter_rows = plan.box_height != plan.out_height;
  ImageView image = source.Crop({needed.x - at.x, needed.y - at.y, needed.width, needed.height});
  if (filter_columns || plan.flip) {
    uint8_t* to = out;
    size_t to_stride = stride;
    if (filter_rows) {
      to_stride = static_cast<size_t>(window.width) * channels;
      const size_t bytes = to_stride * static_cast<size_t>(image.height);
      if (between.size() < bytes) between.resize(bytes);
      to = between.data();
    }
    if (filter_columns) {
      BuildFilterTable(plan.filter, plan.box_width, plan.out_width, window.x, window.x + window.width, plan.flip,
                       &columns);
      for (int32_t& first : columns.first) first -= needed.x;
      BuildPairTable(columns, kHorizontalGroup, &column_pairs);
      HorizontalPass(columns, column_pairs, image, to, to_stride, &padded);
    } else {
      for (int y = 0; y < image.height; ++y) {
        const uint8_t* from = image.row(y);
        uint8_t* row = to + static_cast<size_t>(y) * to_stride;
        for (int x = 0; x < image.width; ++x) {
          CopyPixel(from + static_cast<size_t>(image.width - 1 - x) * channels, channels,
                    row + static_cast<size_t>(x) * channels);
        }
      }
    }
    if (!filter_rows) return;
    image = {to, window.width, image.height, image.channels, to_stride};
  }
  if (filter_rows) {
    BuildFilterTable(plan.filter, plan.box_height, plan.out_height, window.y, window.y + window.height, false, &rows);
    for (int32_t& first : rows.first) first -= needed.y;
    BuildPairTable(rows, 1, &row_pairs);
    VerticalPass(rows, row_pairs, image, out, stride);
    return;
  }
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(out + static_cast<size_t>(y) * stride, image.row(y), image.row_bytes());
  }
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
    cv::Mat result(plan.out_height, plan.out_width, type, to, to_stride);
    cv::resize(in, result, result.size(), 0, 0,
               plan.method == ResizeMethod::kOpencvArea ? cv::INTER_AREA : cv::INTER_LINEAR);
    PS_CHECK(result.data == to);
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("cv::resize: ", e.what()));
  }
  if (direct) return absl::OkStatus();
  for (int y = 0; y < window.height; ++y, out += stride) {
    const uint8_t* from = to + static_cast<size_t>(window.y + y) * to_stride + static_cast<size_t>(window.x) * channels;
    if (!plan.flip) {
      std::memcpy(out, from, static_cast<size_t>(window.width) * channels);
      continue;
    }
    for (int x = 0; x < window.width; ++x) {
      CopyPixel(from + static_cast<size_t>(window.width - 1 - x) * channels, channels,
                out + static_cast<size_t>(x) * channels);
    }
  }
  return absl::OkStatus();
}

absl::Status Resizer::Run(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out,
                          size_t stride) {
  const Rect needed = SourceNeeded(plan);
  PS_CHECK(plan.window.Inside(plan.out_width, plan.out_height));
  PS_CHECK(source.width == at.width && source.height == at.height);
  PS_CHECK((Rect{needed.x - at.x, needed.y - at.y, needed.width, needed.height}.Inside(at.width, at.height)));
  if (plan.method != ResizeMethod::kPil) return state_->RunOpencv(plan, source, at, out, stride);
  if (plan.filter == ResizeFilter::kNearest) {
    state_->RunNearest(plan, source, at, out, stride);
  } else {
    state_->RunPil(plan, source, at, out, stride);
  }
  return absl::OkStatus();
}

}  // namespace penstock
