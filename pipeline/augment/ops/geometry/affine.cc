// affine: rotates (clockwise), shifts, scales and shears the image about its center; the size stays. Source:
// torchvision's transforms.RandomAffine. Draws, in this order: whether to apply it (no draw if the probability is 0 or
// 1); the angle; the shift to the right, then down, uniform in [-fraction * side, fraction * side] and rounded to whole
// pixels, ties to even; the scale; the shear along x, then y. A range of one value takes no draw.
#include <cmath>

#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/draws.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/ops/common/moves.h"

namespace penstock::augment {
namespace {

struct Range {
  double low = 0, high = 0;
  bool Varies() const { return low < high; }
  double Draw(SampleRandom* random) const { return DrawUniform(low, high, random); }
};

struct AffineRanges {
  Range degrees, scale, shear_x, shear_y;
  double translate_x = 0, translate_y = 0;
  double probability = 1;

  bool Varies() const {
    return degrees.Varies() || scale.Varies() || shear_x.Varies() || shear_y.Varies() || translate_x > 0 ||
           translate_y > 0 || (probability > 0 && probability < 1);
  }
};

class AffineOp final : public Op {
 public:
  AffineOp(const AffineRanges& ranges, image::WarpSampling sampling, const FillColor& fill)
      : ranges_(ranges), sampling_(sampling), fill_(fill) {}

  bool IsRandom() const override { return ranges_.Varies(); }

  absl::Status Apply(OpContext* context, Value* value) const override {
    SampleRandom* random = &context->random;
    if (!context->dry() && !DrawChance(ranges_.probability, random)) return absl::OkStatus();
    LazyImage& image = value->image;
    const int width = image.width(), height = image.height();
    image::AffineParameters p;
    p.degrees = ranges_.degrees.Draw(random);
    p.translate_x = std::nearbyint(DrawUniform(-ranges_.translate_x * width, ranges_.translate_x * width, random));
    p.translate_y = std::nearbyint(DrawUniform(-ranges_.translate_y * height, ranges_.translate_y * height, random));
    p.scale = ranges_.scale.Draw(random);
    p.shear_x_degrees = ranges_.shear_x.Draw(random);
    p.shear_y_degrees = ranges_.shear_y.Draw(random);
    return WarpImage(context, &image, image::AffineMap(p, width, height), sampling_, fill_, width, height);
  }

 private:
  const AffineRanges ranges_;
  const image::WarpSampling sampling_;
  const FillColor fill_;
};

std::unique_ptr<Op> MakeAffine(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  CheckImageInput(setup);
  const v1::Affine& spec = setup.spec->affine();
  AffineRanges ranges;
  ranges.degrees = {spec.min_degrees(), spec.max_degrees()};
  ranges.scale = {spec.scale_min() != 0 ? spec.scale_min() : 1.0, spec.scale_max() != 0 ? spec.scale_max() : 1.0};
  ranges.shear_x = {spec.min_shear_x_degrees(), spec.max_shear_x_degrees()};
  ranges.shear_y = {spec.min_shear_y_degrees(), spec.max_shear_y_degrees()};
  ranges.translate_x = spec.translate_x();
  ranges.translate_y = spec.translate_y();
  // The conditions are negated so that NaN is an error.
  if (!(std::fabs(ranges.degrees.low) <= 3600)) setup.Error("min_degrees", "must be from -3600 to 3600");
  if (!(ranges.degrees.high >= ranges.degrees.low && ranges.degrees.high <= 3600)) {
    setup.Error("max_degrees", "must be at least min_degrees and at most 3600");
  }
  if (!(ranges.translate_x >= 0 && ranges.translate_x <= 1)) setup.Error("translate_x", "must be from 0 to 1");
  if (!(ranges.translate_y >= 0 && ranges.translate_y <= 1)) setup.Error("translate_y", "must be from 0 to 1");
  if (!(ranges.scale.low >= 0.001 && ranges.scale.low <= 1000)) setup.Error("scale_min", "must be from 0.001 to 1000");
  if (!(ranges.scale.high >= ranges.scale.low && ranges.scale.high <= 1000)) {
    setup.Error("scale_max", "must be at least scale_min and at most 1000");
  }
  const auto check_shear = [&](const Range& range, std::string_view low, std::string_view high) {
    if (!(std::fabs(range.low) <= 89)) setup.Error(low, "must be from -89 to 89");
    if (!(range.high >= range.low && range.high <= 89)) {
      setup.Error(high, "must be at least the minimum and at most 89");
    }
  };
  check_shear(ranges.shear_x, "min_shear_x_degrees", "max_shear_x_degrees");
  check_shear(ranges.shear_y, "min_shear_y_degrees", "max_shear_y_degrees");
  ranges.probability = ChooseProbability(setup, spec.has_probability(), spec.probability(), 1);
  const image::WarpSampling sampling = ChooseSampling(setup, spec.filter());
  const FillColor fill = ChooseFill(setup, spec.fill(), spec.mask_fill());
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  return std::make_unique<AffineOp>(ranges, sampling, fill);
}

const OpRegistration kAffineRegistration{"affine", MakeAffine};

}  // namespace
}  // namespace penstock::augment
