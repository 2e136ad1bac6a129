// decode_image: an encoded string becomes a uint8 image, height x width x channels. The pixels wait (lazy_image.h).
#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/op_registry.h"

namespace penstock {
namespace {

class DecodeImageOp final : public Op {
 public:
  DecodeImageOp(const v1::DecodeImage& spec, const OpSetup& setup)
      : channels_(spec.channels() == v1::DecodeImage::GRAY ? 1 : 3),
        upright_(spec.apply_exif_orientation()),
        lenient_(spec.lenient()),
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
                                 .label = label_};
    const absl::StatusOr<ImageHeader> header = ProbeImage(value->bytes);
    if (!header.ok()) return WithFault(Fault::kNoImage, header.status());
    decoding.header = *header;
    const absl::Status fits = CheckLimits(decoding.header, limits_);
    if (!fits.ok()) return WithFault(Fault::kOverLimit, fits);
    value->image = LazyImage::Encoded(decoding);
    return absl::OkStatus();
  }

 private:
  const int channels_;
  const bool upright_, lenient_;
  const ImageLimits limits_;
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
  auto op = std::make_unique<DecodeImageOp>(spec, setup);
  *output = {.dtype = DType::kUint8, .shape = {kAnySize, kAnySize, op->channels()}};
  return op;
}

const OpRegistration kRegistration{"decode_image", MakeDecodeImage};

}  // namespace
}  // namespace penstock
