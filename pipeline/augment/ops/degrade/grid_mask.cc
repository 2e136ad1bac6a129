// grid_mask: removes the pixels in the squares of a grid. Draws: probability; the grid's unit, a uniform integer in
// [unit_min, unit_max] (no draw if they are equal); its shift to the right and down, uniform integers below the unit;
// its rotation, uniform in [0, max_rotation_degrees] (no draw if that is 0). keep_ratio of a unit's side, rounded, is
// kept.
// Source: Chen, Liu, Zhao and Jia, "GridMask data augmentation" (2020).
#include <cmath>

#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"
#include "pipeline/image/degrade.h"

namespace penstock::augment {
namespace {

struct Mask {
  image::GridOfSquares grid;
  FillColor color;
  void operator()(const image::ImageView& in, image::ImageTarget out) const {
    image::CopyPixels(in, out);
    image::FillGrid(in, grid, color.values, out);
  }
};

std::unique_ptr<Op> MakeGridMask(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::GridMask& spec = setup.spec->grid_mask();
  const uint32_t low = spec.unit_min() == 0 ? 96 : spec.unit_min(), high = spec.unit_max() == 0 ? 224 : spec.unit_max();
  if (low < 2 || low > kMaxOutputSide) setup.Error("unit_min", "must be from 2 to 65500");
  if (high < low || high > kMaxOutputSide) setup.Error("unit_max", "must be at least unit_min and at most 65500");
  const double keep = spec.keep_ratio() == 0 ? 0.6 : static_cast<double>(spec.keep_ratio());
  if (!(keep > 0 && keep < 1)) setup.Error("keep_ratio", "must be between 0 and 1");
  const double turn = static_cast<double>(spec.max_rotation_degrees());
  if (!(turn >= 0 && turn <= 360)) setup.Error("max_rotation_degrees", "must be from 0 to 360");
  const double probability = ChooseChance(setup, spec, 0.7);
  CheckImageInput(setup);
  if (setup.errors->size() != before) return nullptr;
  const FillColor color = ChooseFill(setup, spec.fill());
  const auto draw = [=](SampleRandom* random, int, int) {
    Mask mask;
    mask.color = color;
    image::GridOfSquares& grid = mask.grid;
    grid.unit = DrawInteger(static_cast<int>(low), static_cast<int>(high), random);
    grid.shift_x = DrawInteger(0, grid.unit - 1, random);
    grid.shift_y = DrawInteger(0, grid.unit - 1, random);
    grid.degrees = DrawUniform(0, turn, random);
    grid.keep = std::clamp(static_cast<int>(std::floor(grid.unit * keep + 0.5)), 1, grid.unit - 1);
    return std::optional(mask);
  };
  return MakeColorOp(setup, before, probability, true, draw, output);
}

const OpRegistration kGridMaskRegistration{"grid_mask", MakeGridMask};

}  // namespace
}  // namespace penstock::augment
