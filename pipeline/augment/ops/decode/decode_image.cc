// decode_image: converts an encoded string to a uint8 image, height x width x channels. The decode is deferred
// (lazy_image.h).
#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/op_registry.h"

namespace penstock::augment {
namespace {

class DecodeImageOp final : public Op {
 public:
  DecodeImageOp(const v1::DecodeImage& spec, const OpSetup& setup)
      : channels_(spec.channels() == v1::DecodeImage::GRAY ? 1 : 3),
        upright_(spec.apply_exif_orientation()),
        lenient_(spec.lenient()),
        whole_(setup.whole_images),
        mask_(setup.is_mask),
        wide_(spec.depth() == v1::UINT16),
        limits_(setup.limits),
        label_(absl::StrCat(setup.path, " (column '", setup.column, "')")) {}

  int channels() const { return channels_; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage::Decoding decoding{.bytes = value->bytes,
                                 .header = {},
                                 .limits = limits_,
                                 .channels = channels_,
                                 .lenient = lenient_ && !context->strict,
                                 .upright = upright_,
                                 .whole = whole_,
                                 .label = label_};
    const absl::StatusOr<image::ImageHeader> header = image::ProbeImage(value->bytes);
    if (!header.ok()) return WithFault(Fault::kNoImage, header.status());
    decoding.header = *header;
    const absl::Status fits = image::CheckLimits(decoding.header, limits_);
    if (!fits.ok()) return WithFault(Fault::kOverLimit, fits);
    if (mask_) {
      const absl::Status readable = CheckMask(decoding.header);
      if (!readable.ok()) return WithFault(Fault::kNoImage, readable);
      decoding.classes = true;
      if (decoding.header.depth == 16) decoding.channels = 2;
    }
    value->image = LazyImage::Encoded(decoding);
    return absl::OkStatus();
  }

 private:
  // Rejects masks whose classes would lose bits.
  absl::Status CheckMask(const image::ImageHeader& header) const {
    if (header.depth != 16) return absl::OkStatus();
    if (header.components != 1) {
      return absl::InvalidArgumentError(
          "the PNG holds colors or alpha of 16 bits, and a mask holds classes; write it as gray or with a palette");
    }
    if (wide_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "the PNG holds 16-bit classes, which do not fit uint8; write decode_image { channels: GRAY depth: UINT16 }");
  }

  const int channels_;
  const bool upright_, lenient_, whole_;
  const bool mask_, wide_;  // wide: 16-bit classes
  const image::ImageLimits limits_;
  const std::string label_;
};

std::unique_ptr<Op> MakeDecodeImage(const OpSetup& setup, ValueType* output) {
  if (!setup.input.IsEncoded()) {
    setup.WrongInput("an encoded image (a BYTES feature without decode_raw)");
    return nullptr;
  }
  const v1::DecodeImage& spec = setup.spec->decode_image();
  if (!v1::DecodeImage::Channels_IsValid(spec.channels())) {
    setup.Error("channels", "must be RGB or GRAY");
    return nullptr;
  }
  if (spec.depth() != v1::DATA_TYPE_UNSPECIFIED && spec.depth() != v1::UINT8 && spec.depth() != v1::UINT16) {
    setup.Error("depth", "must be UINT8 or UINT16");
    return nullptr;
  }
  if (spec.depth() == v1::UINT16 && !setup.is_mask) {
    setup.Error("depth", absl::StrCat("UINT16 is for masks; name column '", setup.column, "' in annotations.masks"));
    return nullptr;
  }
  auto op = std::make_unique<DecodeImageOp>(spec, setup);
  *output = {.dtype = spec.depth() == v1::UINT16 ? batch::DType::kUint16 : batch::DType::kUint8,
             .shape = {kAnySize, kAnySize, op->channels()}};
  return op;
}

const OpRegistration kDecodeImageRegistration{"decode_image", MakeDecodeImage};

}  // namespace
}  // namespace penstock::augment
