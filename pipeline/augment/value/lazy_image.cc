#include "pipeline/augment/value/lazy_image.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/augment/value/step_error.h"
#include "pipeline/image/copy_rows.h"
#include "pipeline/image/formats/decode_other.h"
#include "pipeline/image/formats/png.h"
#include "pipeline/image/orientation.h"

namespace penstock {
namespace {

size_t DenseBytes(int width, int height, int channels) {
  return static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
}

// Passes rows on and counts the time of that as the resize's.
class TimedSink final : public ImageSink {
 public:
  TimedSink(StageTimes* times, ImageSink* sink) : times_(times), sink_(sink) {}
  void Rows(const ImageView& rows) override {
    const StageTimes::Scope resize(times_, StageTimes::kResize);
    sink_->Rows(rows);
  }
  void Restart() override { sink_->Restart(); }

 private:
  StageTimes* const times_;
  ImageSink* const sink_;
};

// Passes on a part of the rows that it receives.
class CroppingSink final : public ImageSink {
 public:
  CroppingSink(const Rect& part, ImageSink* sink) : part_(part), sink_(sink) {}
  void Rows(const ImageView& rows) override {
    const int begin = std::max(part_.y - y_, 0), end = std::min(part_.y + part_.height - y_, rows.height);
    y_ += rows.height;
    if (begin < end) sink_->Rows(rows.Crop({part_.x, begin, part_.width, end - begin}));
  }
  void Restart() override {
    y_ = 0;
    sink_->Restart();
  }

 private:
  const Rect part_;
  ImageSink* const sink_;
  int y_ = 0;  // index of the next row
};

// Other formats are decoded completely.
bool DecodesParts(image::ImageFormat format) {
  return format == image::ImageFormat::kJpeg || format == image::ImageFormat::kPng;
}

absl::Status Labeled(std::string_view label, const absl::Status& status) {
  return WithFault(Fault::kDamagedImage, AtStep(label, status));
}

}  // namespace

LazyImage LazyImage::Encoded(const Decoding& decoding) {
  LazyImage image;
  image.encoded_ = true;
  image.decoding_ = decoding;
  if (!decoding.upright) image.decoding_.header.orientation = 1;
  const ImageHeader& header = image.decoding_.header;
  const bool swap = image::SwapsSides(header.orientation);
  image.channels_ = decoding.channels;
  image.box_ = {0, 0, swap ? header.height : header.width, swap ? header.width : header.height};
  image.window_ = image.box_;
  return image;
}

LazyImage LazyImage::InMemory(const ImageView& view) {
  LazyImage image;
  image.memory_ = view;
  image.channels_ = view.channels;
  image.box_ = {0, 0, view.width, view.height};
  image.window_ = image.box_;
  return image;
}

void LazyImage::Crop(const Rect& rect) {
  PS_CHECK(rect.Inside(width(), height()));
  const int x = flip_ ? width() - rect.x - rect.width : rect.x;
  if (resized_) {
    window_ = {window_.x + x, window_.y + rect.y, rect.width, rect.height};
  } else {
    box_ = {box_.x + x, box_.y + rect.y, rect.width, rect.height};
    window_ = {0, 0, rect.width, rect.height};
  }
}

void LazyImage::Resize(int width, int height, ResizeMethod method, ResizeFilter filter) {
  PS_CHECK(CanResize());
  resized_ = true;
  resized_width_ = width;
  resized_height_ = height;
  method_ = method;
  filter_ = filter;
  window_ = {0, 0, width, height};
}

bool LazyImage::IsRealized() const {
  return !encoded_ && !resized_ && !flip_ && box_ == Rect{0, 0, memory_.width, memory_.height};
}

image::ResizePlan LazyImage::Plan() const {
  return {.box_width = box_.width,
          .box_height = box_.height,
          .out_width = resized_ ? resized_width_ : box_.width,
          .out_height = resized_ ? resized_height_ : box_.height,
          .window = window_,
          .flip = flip_,
          .method = method_,
          .filter = filter_};
}

absl::Status LazyImage::StoreFrom(ImageTools* tools, const ImageView& source, const Rect& at, uint8_t* out,
                                  size_t stride) const {
  const StageTimes::Scope resize(&tools->times, StageTimes::kResize);
  return tools->resizer.Run(Plan(), source, at, out, stride);
}

bool LazyImage::TakesDecodedRows() const {
  return DecodesParts(decoding_.header.format) && decoding_.header.orientation == 1 && image::TakesRows(Plan());
}

// Decodes the part `stored`, in coordinates of the stored image.
absl::Status LazyImage::DecodeTo(ImageTools* tools, const Rect& stored, ImageSink* sink, bool* damaged) const {
  if (!decoding_.whole) return DecodePart(tools, stored, sink, damaged);
  CroppingSink part(stored, sink);
  return DecodePart(tools, {0, 0, decoding_.header.width, decoding_.header.height}, &part, damaged);
}

absl::Status LazyImage::DecodePart(ImageTools* tools, const Rect& stored, ImageSink* sink, bool* damaged) const {
  const StageTimes::Scope decode(&tools->times, StageTimes::kDecode);
  if (decoding_.header.format == image::ImageFormat::kPng) {
    const absl::Status status =
        image::DecodePng(&tools->png, decoding_.bytes, decoding_.header, stored, channels_, sink, decoding_.classes);
    return status.ok() ? status : Labeled(decoding_.label, status);
  }
  const auto result = tools->jpeg.Decode(
      decoding_.bytes, stored, {.channels = channels_, .lenient = decoding_.lenient, .limits = decoding_.limits}, sink);
  if (!result.ok()) return Labeled(decoding_.label, result.status());
  *damaged = *damaged || *result;
  return absl::OkStatus();
}

// Decodes the part `rect`, in coordinates of the upright image.
absl::Status LazyImage::Decode(ImageTools* tools, const Rect& rect, uint8_t* out, size_t stride, bool* damaged) const {
  const ImageHeader& header = decoding_.header;
  const Rect stored = image::StoredRect(rect, header.orientation, header.width, header.height);
  uint8_t* to = out;
  size_t to_stride = stride;
  if (header.orientation != 1) {
    to_stride = DenseBytes(stored.width, 1, channels_);
    to = tools->arena.Acquire(DenseBytes(stored.width, stored.height, channels_));
  }
  image::ImageCopier copier(to, to_stride);
  PS_RETURN_IF_ERROR(DecodeTo(tools, stored, &copier, damaged));
  if (header.orientation != 1) {
    image::TurnUpright({to, stored.width, stored.height, channels_, to_stride}, header.orientation, out, stride);
  }
  return absl::OkStatus();
}

absl::Status LazyImage::Store(ImageTools* tools, uint8_t* out, size_t stride, bool* damaged) const {
  if (!encoded_) {
    return StoreFrom(tools, memory_.Crop(box_), {0, 0, box_.width, box_.height}, out, stride);
  }
  const ImageHeader& header = decoding_.header;
  if (!DecodesParts(header.format)) {
    const size_t row = DenseBytes(header.width, 1, channels_);
    uint8_t* pixels = tools->arena.Acquire(DenseBytes(header.width, header.height, channels_));
    {
      const StageTimes::Scope decode(&tools->times, StageTimes::kDecode);
      const absl::Status status =
          image::DecodeOther(decoding_.bytes, header, channels_, pixels, row, decoding_.classes);
      if (!status.ok()) return Labeled(decoding_.label, status);
    }
    ImageView view{pixels, header.width, header.height, channels_, row};
    if (header.orientation != 1) {
      const bool swap = image::SwapsSides(header.orientation);
      const int width = swap ? header.height : header.width;
      const int height = swap ? header.width : header.height;
      uint8_t* turned = tools->arena.Acquire(DenseBytes(width, height, channels_));
      image::TurnUpright(view, header.orientation, turned, DenseBytes(width, 1, channels_));
      view = {turned, width, height, channels_, DenseBytes(width, 1, channels_)};
    }
    return StoreFrom(tools, view.Crop(box_), {0, 0, box_.width, box_.height}, out, stride);
  }
  if (!resized_ && !flip_) return Decode(tools, box_, out, stride, damaged);
  const Rect needed = image::SourceNeeded(Plan());
  const Rect rect{box_.x + needed.x, box_.y + needed.y, needed.width, needed.height};
  if (TakesDecodedRows()) {
    ImageSink* const resizer = tools->resizer.Start(Plan(), channels_, out, stride);
    if (!tools->times.on()) return DecodeTo(tools, rect, resizer, damaged);
    TimedSink timed(&tools->times, resizer);
    return DecodeTo(tools, rect, &timed, damaged);
  }
  const size_t row = DenseBytes(needed.width, 1, channels_);
  uint8_t* pixels = tools->arena.Acquire(row * static_cast<size_t>(needed.height));
  PS_RETURN_IF_ERROR(Decode(tools, rect, pixels, row, damaged));
  return StoreFrom(tools, {pixels, needed.width, needed.height, channels_, row}, needed, out, stride);
}

absl::Status LazyImage::Realize(ImageTools* tools, bool* damaged) {
  if (IsRealized()) return absl::OkStatus();
  if (!encoded_ && !resized_ && !flip_) {
    *this = InMemory(memory_.Crop(box_));
    return absl::OkStatus();
  }
  const size_t row = DenseBytes(width(), 1, channels_);
  uint8_t* pixels = tools->arena.Acquire(DenseBytes(width(), height(), channels_));
  PS_RETURN_IF_ERROR(Store(tools, pixels, row, damaged));
  *this = InMemory({pixels, width(), height(), channels_, row});
  return absl::OkStatus();
}

size_t LazyImage::StoreBytes() const {
  size_t bytes = image::ResizeBytes(Plan(), channels_) + 3 * Arena::kSlack;
  if (!encoded_) return bytes;
  const ImageHeader& header = decoding_.header;
  const size_t turned = header.orientation != 1 ? 2 : 1;
  if (!DecodesParts(header.format)) {
    return bytes + image::DecodeOtherBytes(header) + turned * DenseBytes(header.width, header.height, channels_);
  }
  bytes +=
      header.format == image::ImageFormat::kJpeg ? image::JpegDecoderBytes(header) : image::DecodeOtherBytes(header);
  return TakesDecodedRows() ? bytes : bytes + turned * DenseBytes(box_.width, box_.height, channels_);
}

void LazyImage::PretendRealized(size_t* bytes) {
  if (!IsRealized()) *bytes += StoreBytes() + DenseBytes(width(), height(), channels_);
  *this = InMemory({nullptr, width(), height(), channels_, DenseBytes(width(), 1, channels_)});
}

}  // namespace penstock
