// jpeg_distortion: compresses and decompresses the image as JPEG. The quality is a uniform integer in [quality_min,
// quality_max] (no draw if they are equal). Draws: probability, quality. Uses libjpeg-turbo with accurate integer DCT
// both ways, 4:2:0 and fancy upsampling, like Pillow's save and open. A gray image becomes a gray JPEG.
// Source: torchvision.transforms.v2.JPEG.
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"
#include "pipeline/image/jpeg/jpeg_encoder.h"

namespace penstock::augment {
namespace {

class JpegDistortionOp final : public Op {
 public:
  JpegDistortionOp(int low, int high, double probability) : low_(low), high_(high), probability_(probability) {}

  bool IsRandom() const override { return low_ < high_ || (probability_ > 0 && probability_ < 1); }

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage& image = value->image;
    if (!context->dry() && !DrawChance(probability_, &context->random)) return absl::OkStatus();
    PS_RETURN_IF_ERROR(context->Realize(&image));
    const int width = image.width(), height = image.height(), channels = image.channels();
    const size_t stride = static_cast<size_t>(width) * static_cast<size_t>(channels);
    const size_t buffer_bytes = image::JpegBufferBytes(width, height);
    uint8_t* const pixels = context->Output(stride * static_cast<size_t>(height));
    if (context->dry()) {
      image::ImageHeader header;
      header.width = width;
      header.height = height;
      *context->dry_bytes +=
          buffer_bytes + Arena::kSlack + image::JpegCompressorBytes(width) + image::JpegDecoderBytes(header);
    } else {
      const int quality = DrawInteger(low_, high_, &context->random);
      uint8_t* const buffer = context->tools->arena.Acquire(buffer_bytes);
      // The pixels do not depend on the Huffman tables.
      const image::JpegEncodeOptions options = {.quality = quality, .optimize = false};
      PS_ASSIGN_OR_RETURN(const std::string_view jpeg,
                          image::EncodeJpegInto(image.view(), options, buffer, buffer_bytes));
      PS_RETURN_IF_ERROR(
          context->tools->jpeg.Decode(jpeg, {0, 0, width, height}, {.channels = channels}, pixels, stride).status());
    }
    image = LazyImage::InMemory({pixels, width, height, channels, stride});
    return absl::OkStatus();
  }

 private:
  const int low_, high_;
  const double probability_;
};

std::unique_ptr<Op> MakeJpegDistortion(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::JpegDistortion& spec = setup.spec->jpeg_distortion();
  if (spec.quality_min() < 1 || spec.quality_min() > 100) setup.Error("quality_min", "must be from 1 to 100");
  if (spec.quality_max() < spec.quality_min() || spec.quality_max() > 100) {
    setup.Error("quality_max", "must be at least quality_min and at most 100");
  }
  const double probability = ChooseChance(setup, spec);
  CheckImageInput(setup);
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<JpegDistortionOp>(static_cast<int>(spec.quality_min()), static_cast<int>(spec.quality_max()),
                                            probability);
}

const OpRegistration kJpegDistortionRegistration{"jpeg_distortion", MakeJpegDistortion};

}  // namespace
}  // namespace penstock::augment
