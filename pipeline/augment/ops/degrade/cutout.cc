// cutout: fills `count` squares around uniform centers, clipped at the border. Draws: probability; then the row and the
// column of each square's center. A square of side s around (x, y) begins at x - s / 2, y - s / 2, rounded up.
// Source: DeVries and Taylor, "Improved regularization of convolutional neural networks with cutout" (2017).
#include "absl/strings/str_cat.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"
#include "pipeline/image/degrade.h"

namespace penstock::augment {
namespace {

constexpr uint32_t kMaxCount = 1000;

struct Cut {
  int size, count;
  FillColor color;
  SampleRandom* random;

  void operator()(const image::ImageView& in, image::ImageTarget out) const {
    image::CopyPixels(in, out);
    for (int i = 0; i < count; ++i) {
      const int y = DrawInteger(0, in.height - 1, random), x = DrawInteger(0, in.width - 1, random);
      image::FillRect(in, {x - size / 2, y - size / 2, size, size}, color.values, out);
    }
  }
};

std::unique_ptr<Op> MakeCutout(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Cutout& spec = setup.spec->cutout();
  CheckSide(setup, "size", spec.size());
  if (spec.count() > kMaxCount) setup.Error("count", absl::StrCat("must be at most ", kMaxCount));
  const double probability = ChooseChance(setup, spec);
  CheckImageInput(setup);
  if (setup.errors->size() != before) return nullptr;
  const FillColor color = ChooseFill(setup, spec.fill());
  const int size = static_cast<int>(spec.size()), count = spec.count() == 0 ? 1 : static_cast<int>(spec.count());
  const auto draw = [=](SampleRandom* random, int, int) { return std::optional(Cut{size, count, color, random}); };
  return MakeColorOp(setup, before, probability, true, draw, output);
}

const OpRegistration kCutoutRegistration{"cutout", MakeCutout};

}  // namespace
}  // namespace penstock::augment
