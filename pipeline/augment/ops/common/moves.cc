#include "pipeline/augment/ops/common/moves.h"

#include "base/status_macros.h"
#include "pipeline/augment/ops/common/pixel_op.h"

namespace penstock {
namespace {

// Returns round(n / 2), ties to even, for n >= 0.
int HalfRoundedEven(int n) { return n / 2 + (n % 4 == 3 ? 1 : 0); }

}  // namespace

void CropImage(OpContext* context, LazyImage* image, const Rect& rect) {
  if (context->dry()) return;
  image->Crop(rect);
  context->Moved(ImageMove::Window(rect));
}

absl::Status WindowImage(OpContext* context, LazyImage* image, const Rect& window, PadMode mode,
                         const FillColor& fill) {
  if (window.Inside(image->width(), image->height()) && !context->dry()) {
    CropImage(context, image, window);
    return absl::OkStatus();
  }
  PS_RETURN_IF_ERROR(ReplacePixels(
      context, image, window.width, window.height, 0,
      [&](const ImageView& in, ImageTarget out) { image::CopyWindow(in, window, mode, fill.values, out); }));
  context->Moved(ImageMove::Window(window, mode, fill.masks));
  return absl::OkStatus();
}

void MirrorImage(OpContext* context, LazyImage* image) {
  image->Flip();
  context->Moved(ImageMove::Mirror(image->width(), image->height()));
}

absl::Status WarpImage(OpContext* context, LazyImage* image, const WarpMap& map, WarpSampling sampling,
                       const FillColor& fill, int width, int height) {
  // Besides the pixels: a table of columns.
  const size_t scratch = 4 * static_cast<size_t>(width);
  PS_RETURN_IF_ERROR(ReplacePixels(context, image, width, height, scratch, [&](const ImageView& in, ImageTarget out) {
    Warp(in, map, context->tools->Sampling(sampling), fill.values, width, height, out);
  }));
  context->Moved(ImageMove::Warp(map, width, height, fill.masks));
  return absl::OkStatus();
}

absl::Status ResizeImage(OpContext* context, LazyImage* image, int width, int height, const ResizeChoice& choice) {
  if (!image->CanResize()) PS_RETURN_IF_ERROR(context->Realize(image));
  const ImageMove move = ImageMove::Resize(image->width(), image->height(), width, height);
  image->Resize(width, height, choice.method, choice.filter);
  context->Moved(move);
  return absl::OkStatus();
}

Rect CenterRect(int width, int height, int crop_width, int crop_height) {
  return {HalfRoundedEven(width - crop_width), HalfRoundedEven(height - crop_height), crop_width, crop_height};
}

}  // namespace penstock
