// Shared parts of ops that change pixel values: brightness and similar ops, noise, erasing.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_COLOR_OP_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_COLOR_OP_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/augment/ops/common/draws.h"
#include "pipeline/augment/ops/common/fields.h"
#include "pipeline/augment/value/own_op_names.h"
#include "pipeline/image/adjust.h"

namespace penstock {

// Replaces the image with the result of `change(in, out)`, which writes an image of the same size. `out` may be the
// memory of `in`. Pixels that are not realized yet are written directly to the result's memory, which saves a copy.
// `change` allocates at most `scratch_bytes` more. In a dry run it is not called.
template <typename Change>
absl::Status ChangePixels(OpContext* context, LazyImage* image, size_t scratch_bytes, Change change) {
  const size_t stride = static_cast<size_t>(image->width()) * static_cast<size_t>(image->channels());
  uint8_t* const pixels = context->Output(stride * static_cast<size_t>(image->height()));
  if (context->dry()) {
    image->PretendRealized(context->dry_bytes);
    *context->dry_bytes += scratch_bytes;
    return absl::OkStatus();
  }
  const ImageView made{pixels, image->width(), image->height(), image->channels(), stride};
  const ImageTarget out{pixels, stride};
  if (image->IsRealized()) {
    change(image->view(), out);
  } else {
    PS_RETURN_IF_ERROR(image->Store(context->tools, pixels, stride, context->damaged));
    change(made, out);
  }
  *image = LazyImage::InMemory(made);
  return absl::OkStatus();
}

// An op that first draws whether to act (no draw at probability 0 or 1). If so, calls draw(random, width, height).
// draw() returns an optional change(in, out), which is applied to the pixels. Without one the image stays unchanged,
// and pending steps stay pending.
template <typename Draw>
class ColorOp final : public Op {
 public:
  ColorOp(double probability, bool draws, Draw draw)
      : probability_(probability), is_random_(draws || (probability > 0 && probability < 1)), draw_(std::move(draw)) {}

  bool IsRandom() const override { return is_random_; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    if (context->dry()) return ChangePixels(context, &value->image, 0, [](const ImageView&, ImageTarget) {});
    if (!DrawChance(probability_, &context->random)) return absl::OkStatus();
    const auto change = draw_(&context->random, value->image.width(), value->image.height());
    if (!change.has_value()) return absl::OkStatus();
    return ChangePixels(context, &value->image, 0, *change);
  }

 private:
  const double probability_;
  const bool is_random_;
  const Draw draw_;
};

// Returns the op, or null if the setup has more than `errors_before` errors. Adds an error unless the input is an
// image. `draws` states whether draw() takes random numbers. The output has the input's type.
template <typename Draw>
std::unique_ptr<Op> MakeColorOp(const OpSetup& setup, size_t errors_before, double probability, bool draws, Draw draw,
                                ValueType* output) {
  CheckImageInput(setup);
  if (setup.errors->size() != errors_before) return nullptr;
  *output = setup.input;
  return std::make_unique<ColorOp<Draw>>(probability, draws, std::move(draw));
}

// Like MakeColorOp, for ops that only affect color. Such an op neither changes a gray image nor draws for it.
template <typename Draw>
std::unique_ptr<Op> MakeColorOnlyOp(const OpSetup& setup, size_t errors_before, double probability, bool draws,
                                    Draw draw, ValueType* output) {
  const bool gray = setup.input.IsImage() && setup.input.shape[2] == 1;
  return MakeColorOp(setup, errors_before, gray ? 0 : probability, draws && !gray, std::move(draw), output);
}

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_COLOR_OP_H_
