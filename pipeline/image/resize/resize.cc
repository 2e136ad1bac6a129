#include "pipeline/image/resize/resize.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "opencv2/core.hpp"
#include "opencv2/core/utils/logger.hpp"
#include "opencv2/imgproc.hpp"
#include "pipeline/image/copy_rows.h"
#include "pipeline/image/resize/area_resize.h"
#include "pipeline/image/resize/pil_rows.h"
#include "pipeline/image/resize/tf_resize.h"

namespace penstock::image {
namespace {

// On x86-64, OpenCV has the same bits (area_resize_test.cc) and takes less time.
#if defined(__x86_64__)
constexpr bool kOwnArea = false;
#else
constexpr bool kOwnArea = true;
#endif

// Returns the bytes of OpenCV's offsets of the input pixels of one output pixel. An area resize has them if both sizes
// are whole multiples.
size_t OffsetBytes(const ResizePlan& plan) {
  if (plan.box_width % plan.out_width != 0 || plan.box_height % plan.out_height != 0) return 0;
  return sizeof(int) * static_cast<size_t>(plan.box_width / plan.out_width) *
         static_cast<size_t>(plan.box_height / plan.out_height);
}

// Copies one pixel of 1 or 3 channels.
void CopyPixel(const uint8_t* from, size_t channels, uint8_t* to) {
  for (size_t c = 0; c < channels; ++c) to[c] = from[c];
}

absl::Status ResizeWithOpencv(const ImageView& in, int out_width, int out_height, bool area, uint8_t* out,
                              size_t stride) {
  const int type = CV_MAKETYPE(CV_8U, in.channels);
  try {
    // OpenCV only reads the input, but cv::Mat has no const view.
    const cv::Mat from(in.height, in.width, type, const_cast<uint8_t*>(in.data), in.stride);
    cv::Mat resized(out_height, out_width, type, out, stride);
    cv::resize(from, resized, resized.size(), 0, 0, area ? cv::INTER_AREA : cv::INTER_LINEAR);
    PS_CHECK(resized.data == out);
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("cv::resize: ", e.what()));
  }
  return absl::OkStatus();
}

}  // namespace

struct Resizer::State {
  PilRows pil;
  std::vector<int32_t> column_index, row_index;
  std::vector<uint8_t> between;
  TfAxis tf_columns, tf_rows;
  TfRows tf;

  void RunNearest(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);
  void RunTf(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);
  absl::Status RunOpencv(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out, size_t stride);
};

size_t ResizeBytes(const ResizePlan& plan, int channels) {
  const size_t box_row = static_cast<size_t>(plan.box_width) * static_cast<size_t>(channels);
  const size_t out_row = static_cast<size_t>(plan.out_width) * static_cast<size_t>(channels);
  if (IsTf(plan)) {
    return 2 * (TfAxisBytes(TfAntialias(plan), plan.box_width, plan.out_width, plan.window.width) +
                TfAxisBytes(TfAntialias(plan), plan.box_height, plan.out_height, plan.window.height) +
                TfRows::Bytes(plan.box_width, plan.window.width, channels));
  }
  if (!TakesRows(plan)) {
    // The whole result, and the rows and tables of NEAREST and OpenCV.
    const size_t box_height = static_cast<size_t>(plan.box_height), out_height = static_cast<size_t>(plan.out_height);
    return out_row * out_height + 64 * (box_row + out_row) + 16 * out_height +
           (plan.method == ResizeMethod::kOpencvArea ? 24 * box_height + OffsetBytes(plan) : 0) + 65536;
  }
  return PilRows::Bytes(plan, channels);
}

Resizer::Resizer() : state_(std::make_unique<State>()) {
  // Rows of a batch run in parallel, so OpenCV must not start its own threads.
  static const bool single_threaded = (cv::setNumThreads(1), true);
  // OpenCV's messages arrive with its exceptions and end in the status. None is written to stderr.
  static const bool silent = [] {
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    cv::redirectError([](int, const char*, const char*, const char*, int, void*) { return 0; });
    return true;
  }();
  (void)single_threaded;
  (void)silent;
}
Resizer::~Resizer() = default;

void Resizer::Clear() { state_ = std::make_unique<State>(); }

size_t Resizer::held_bytes() const {
  const State& s = *state_;
  return s.pil.held_bytes() + (s.column_index.capacity() + s.row_index.capacity()) * sizeof(int32_t) +
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

void Resizer::State::RunTf(const ResizePlan& plan, const ImageView& source, const Rect& at, uint8_t* out,
                           size_t stride) {
  const Rect& window = plan.window;
  const bool antialias = TfAntialias(plan);
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
  const bool area = plan.method == ResizeMethod::kOpencvArea;
  if (kOwnArea && area && ShrinksByFraction(box.width, box.height, plan.out_width, plan.out_height)) {
    ResizeArea(box, plan.out_width, plan.out_height, to, to_stride);
  } else {
    PS_RETURN_IF_ERROR(ResizeWithOpencv(box, plan.out_width, plan.out_height, area, to, to_stride));
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
  if (IsTf(plan)) {
    state_->RunTf(plan, source, at, out, stride);
    return absl::OkStatus();
  }
  if (plan.method != ResizeMethod::kPil) return state_->RunOpencv(plan, source, at, out, stride);
  if (plan.filter == ResizeFilter::kNearest) {
    state_->RunNearest(plan, source, at, out, stride);
    return absl::OkStatus();
  }
  state_->pil.Start(plan, source.channels, out, stride);
  state_->pil.Rows(source.Crop({needed.x - at.x, needed.y - at.y, needed.width, needed.height}));
  PS_CHECK(state_->pil.Done());
  return absl::OkStatus();
}

ImageSink* Resizer::Start(const ResizePlan& plan, int channels, uint8_t* out, size_t stride) {
  PS_CHECK(plan.window.Inside(plan.out_width, plan.out_height));
  state_->pil.Start(plan, channels, out, stride);
  return &state_->pil;
}

}  // namespace penstock::image
