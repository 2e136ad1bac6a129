// Pixels beyond the border of an image.
#ifndef PENSTOCK_PIPELINE_IMAGE_PAD_H_
#define PENSTOCK_PIPELINE_IMAGE_PAD_H_

#include <cstdint>

#include "pipeline/image/adjust.h"
#include "pipeline/image/image_view.h"

namespace penstock {

// What lies outside: NumPy's pad modes of these names, which torchvision takes for PIL images. However far outside.
enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kSymmetric };

// Writes `window` of the image, which may reach beyond it or lie outside: window.width x window.height dense pixels.
// kConstant: outside is fill[c]. 1 or 3 channels. `out` does not overlap `in`.
void CopyWindow(const ImageView& in, const Rect& window, PadMode mode, const uint8_t fill[3], ImageTarget out);

// Writes the image upside down.
void FlipVertically(const ImageView& in, ImageTarget out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_PAD_H_
