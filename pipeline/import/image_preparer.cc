#include "pipeline/import/image_preparer.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/image/formats/decode_other.h"
#include "pipeline/image/jpeg/jpeg_encoder.h"
#include "pipeline/image/jpeg/restart_jpeg.h"

namespace penstock::imports {
namespace {

// Buffers above this size are freed, so that one huge image does not occupy memory of each thread for the rest of the
// run.
constexpr size_t kMaxHeldBytes = size_t{64} << 20;

int ChannelsOf(const image::ImageHeader& header) { return header.components <= 2 ? 1 : 3; }

void Grow(size_t bytes, std::vector<uint8_t>* buffer) {
  if (buffer->capacity() > kMaxHeldBytes && bytes <= kMaxHeldBytes) std::vector<uint8_t>().swap(*buffer);
  buffer->resize(bytes);
}

// Returns a side of the resized image, rounded to nearest, at least 1.
int Scaled(int side, int longer, uint32_t target) {
  return std::max(1, static_cast<int>((int64_t{side} * target * 2 + longer) / (int64_t{longer} * 2)));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> PrepareOptions::Arguments() const {
  std::vector<std::pair<std::string, std::string>> all = {
      {"bytes", restart_index ? "restart-indexed" : "untouched"},
      {"longer-side", longer_side == 0 ? std::string("any") : absl::StrCat(longer_side)},
      {"check", check ? "whole images" : "headers"},
      {"lenient", lenient ? "yes" : "no"}};
  if (longer_side != 0) all.emplace_back("quality", absl::StrCat(quality));
  return all;
}

absl::StatusOr<PreparedImage> ImagePreparer::Prepare(std::string_view encoded) {
  PS_ASSIGN_OR_RETURN(const image::ImageHeader header, image::ProbeImage(encoded));
  if (const absl::Status fits = image::CheckLimits(header, options_.limits); !fits.ok()) {
    return absl::InvalidArgumentError(fits.message());
  }
  PreparedImage image{.bytes = encoded, .format = header.format, .width = header.width, .height = header.height};
  if (options_.longer_side != 0 &&
      static_cast<uint32_t>(std::max(header.width, header.height)) > options_.longer_side) {
    PS_RETURN_IF_ERROR(Shrink(encoded, header, &image));
  }
  if (options_.restart_index && image.format == image::ImageFormat::kJpeg) {
    const absl::Status indexed = AddIndex(&image);
    if (absl::IsDataLoss(indexed) && (options_.lenient || !options_.check)) return image;
    PS_RETURN_IF_ERROR(indexed);
  }
  // A re-encoded image has been decoded, and the restart index has read all coefficients. Neither needs a check.
  if (options_.check && image.treatment == ImageTreatment::kKept) PS_RETURN_IF_ERROR(Check(encoded, header));
  return image;
}

absl::Status ImagePreparer::AddIndex(PreparedImage* image) {
  auto indexed = image::AddRestartIndex(image->bytes, options_.limits);
  if (absl::IsFailedPrecondition(indexed.status())) return absl::OkStatus();  // its kind has no such form
  if (absl::IsResourceExhausted(indexed.status())) return absl::InvalidArgumentError(indexed.status().message());
  PS_RETURN_IF_ERROR(indexed.status());
  indexed_ = *std::move(indexed);
  image->bytes = indexed_;
  if (image->treatment == ImageTreatment::kKept) image->treatment = ImageTreatment::kRestartIndexed;
  return absl::OkStatus();
}

absl::StatusOr<image::ImageView> ImagePreparer::Decode(std::string_view encoded, const image::ImageHeader& header) {
  const int channels = ChannelsOf(header);
  const size_t stride = static_cast<size_t>(header.width) * static_cast<size_t>(channels);
  Grow(stride * static_cast<size_t>(header.height), &pixels_);
  if (header.format == image::ImageFormat::kJpeg) {
    const auto damaged = decoder_.Decode(encoded, {0, 0, header.width, header.height},
                                         {.channels = channels, .lenient = options_.lenient, .limits = options_.limits},
                                         pixels_.data(), stride);
    PS_RETURN_IF_ERROR(damaged.status());
  } else {
    PS_RETURN_IF_ERROR(image::DecodeOther(encoded, header, channels, pixels_.data(), stride));
  }
  return image::ImageView{pixels_.data(), header.width, header.height, channels, stride};
}

absl::Status ImagePreparer::Check(std::string_view encoded, const image::ImageHeader& header) {
  if (header.format != image::ImageFormat::kJpeg) return Decode(encoded, header).status();
  // The pixels are not needed, so every row overwrites the previous row.
  Grow(static_cast<size_t>(header.width) * 3, &pixels_);
  return decoder_
      .Decode(encoded, {0, 0, header.width, header.height},
              {.channels = 3, .lenient = options_.lenient, .limits = options_.limits}, pixels_.data(), 0)
      .status();
}

absl::Status ImagePreparer::Shrink(std::string_view encoded, const image::ImageHeader& header, PreparedImage* image) {
  PS_ASSIGN_OR_RETURN(const image::ImageView pixels, Decode(encoded, header));
  const int longer = std::max(header.width, header.height);
  image->width = Scaled(header.width, longer, options_.longer_side);
  image->height = Scaled(header.height, longer, options_.longer_side);
  const size_t stride = static_cast<size_t>(image->width) * static_cast<size_t>(pixels.channels);
  Grow(stride * static_cast<size_t>(image->height), &smaller_);
  const image::ResizePlan plan{.box_width = header.width,
                               .box_height = header.height,
                               .out_width = image->width,
                               .out_height = image->height,
                               .window = {0, 0, image->width, image->height}};
  PS_RETURN_IF_ERROR(resizer_.Run(plan, pixels, {0, 0, header.width, header.height}, smaller_.data(), stride));
  if (resizer_.held_bytes() > kMaxHeldBytes) resizer_.Clear();
  PS_ASSIGN_OR_RETURN(encoded_,
                      image::EncodeJpeg({smaller_.data(), image->width, image->height, pixels.channels, stride},
                                        {.quality = options_.quality, .orientation = header.orientation}));
  image->bytes = encoded_;
  image->format = image::ImageFormat::kJpeg;
  image->treatment = ImageTreatment::kReencoded;
  return absl::OkStatus();
}

}  // namespace penstock::imports
