// gaussian_blur: blurs with a sigma uniform in [sigma_min, sigma_max] (no draw if they are equal). Draws: probability,
// sigma. Source: torchvision.transforms.GaussianBlur on tensors (pixels within 1; see image/blur.h).
#include "absl/strings/str_cat.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"
#include "pipeline/augment/ops/common/pixel_op.h"
#include "pipeline/image/blur.h"

namespace penstock::augment {
namespace {

class GaussianBlurOp final : public Op {
 public:
  GaussianBlurOp(int size, const FactorRange& sigma, double probability)
      : size_(size), sigma_(sigma), probability_(probability) {}

  bool IsRandom() const override { return sigma_.IsRandom() || (probability_ > 0 && probability_ < 1); }

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage& image = value->image;
    const size_t scratch_bytes = image::GaussianBlurBytes(image.width(), image.channels(), size_);
    if (context->dry()) return ReplacePixels(context, &image, image.width(), image.height(), scratch_bytes, Nothing);
    if (!DrawChance(probability_, &context->random)) return absl::OkStatus();
    const std::vector<int16_t> weights = image::GaussianWeights(size_, sigma_.Draw(&context->random));
    uint8_t* const scratch = context->tools->arena.Acquire(scratch_bytes);
    return FilterPixels(context, &image, [&](const image::ImageView& in, image::ImageTarget out) {
      image::GaussianBlur(in, weights, scratch, out);
    });
  }

 private:
  static void Nothing(const image::ImageView&, image::ImageTarget) {}

  const int size_;
  const FactorRange sigma_;
  const double probability_;
};

std::unique_ptr<Op> MakeGaussianBlur(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::GaussianBlur& spec = setup.spec->gaussian_blur();
  if (spec.kernel_size() % 2 == 0 || spec.kernel_size() > static_cast<uint32_t>(image::kMaxBlurSize)) {
    setup.Error("kernel_size", absl::StrCat("must be odd, from 1 to ", image::kMaxBlurSize));
  }
  const double low = spec.sigma_min() == 0 ? 0.1 : static_cast<double>(spec.sigma_min());
  const double high = spec.sigma_max() == 0 ? 2.0 : static_cast<double>(spec.sigma_max());
  const FactorRange sigma = CheckRange(setup, low, high, 0.01, 1000, "sigma_min", "sigma_max");
  const double probability = ChooseChance(setup, spec);
  CheckImageInput(setup);
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<GaussianBlurOp>(static_cast<int>(spec.kernel_size()), sigma, probability);
}

const OpRegistration kGaussianBlurRegistration{"gaussian_blur", MakeGaussianBlur};

}  // namespace
}  // namespace penstock::augment
