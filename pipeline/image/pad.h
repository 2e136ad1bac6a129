// Padding, windows that extend beyond an image, and the vertical flip.
#ifndef PENSTOCK_PIPELINE_IMAGE_PAD_H_
#define PENSTOCK_PIPELINE_IMAGE_PAD_H_

#include <cstdint>

#include "pipeline/image/adjust.h"
#include "pipeline/image/image_view.h"

namespace penstock::image {

// Values outside the image: NumPy's pad modes of the same names, which torchvision uses for PIL images. They apply at
// any distance from the border.
enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kSymmetric };

// Writes `window` of the image as window.width x window.height dense pixels. The window may extend beyond the image or
// be outside it. With kConstant, outside pixels are fill[c]. Images have 1 to 3 channels. `out` must not overlap `in`.
void CopyWindow(const ImageView& in, const Rect& window, PadMode mode, const uint8_t fill[3], ImageTarget out);

// Writes the image with its rows in reverse order. `out` must not overlap `in`.
void FlipVertically(const ImageView& in, ImageTarget out);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_PAD_H_
