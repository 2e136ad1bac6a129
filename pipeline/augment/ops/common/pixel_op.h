// Shared parts of ops that need the pixels in memory.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_PIXEL_OP_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_PIXEL_OP_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/augment/value/own_op_names.h"
#include "pipeline/image/adjust.h"

namespace penstock {

// Realizes the image's pixels. Then replaces the image with the result of `make(in, out)`, which writes an image of
// width x height with the same channels. `make` allocates at most `scratch_bytes` more. In a dry run it is not called.
template <typename Make>
absl::Status ReplacePixels(OpContext* context, LazyImage* image, int width, int height, size_t scratch_bytes,
                           Make make) {
  PS_RETURN_IF_ERROR(context->Realize(image));
  const int channels = image->channels();
  const size_t stride = static_cast<size_t>(width) * static_cast<size_t>(channels);
  uint8_t* const pixels = context->Output(stride * static_cast<size_t>(height));
  if (context->dry()) {
    *context->dry_bytes += scratch_bytes;
  } else {
    make(image->view(), ImageTarget{pixels, stride});
  }
  *image = LazyImage::InMemory({pixels, width, height, channels, stride});
  return absl::OkStatus();
}

// Like ReplacePixels, for a change that keeps the size.
template <typename Make>
absl::Status FilterPixels(OpContext* context, LazyImage* image, Make make) {
  return ReplacePixels(context, image, image->width(), image->height(), 0, std::move(make));
}

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_PIXEL_OP_H_
