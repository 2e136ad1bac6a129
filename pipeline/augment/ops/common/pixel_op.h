// What ops that need the pixels in memory share.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_PIXEL_OP_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_PIXEL_OP_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/image/adjust.h"

namespace penstock {

// The image's pixels are made, `make(in, out)` writes those of an image of width x height with as many channels, and
// that becomes the image. `make` takes at most `scratch_bytes` beside. In a dry run nothing is called.
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

// As above for a change that keeps the size.
template <typename Make>
absl::Status FilterPixels(OpContext* context, LazyImage* image, Make make) {
  return ReplacePixels(context, image, image->width(), image->height(), 0, std::move(make));
}

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_COMMON_PIXEL_OP_H_
