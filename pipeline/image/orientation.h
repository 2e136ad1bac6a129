// Turning by EXIF orientation, a rectangle at a time.
#ifndef PENSTOCK_PIPELINE_IMAGE_ORIENTATION_H_
#define PENSTOCK_PIPELINE_IMAGE_ORIENTATION_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/image_view.h"

namespace penstock {

// Whether the orientation (1 to 8, EXIF 2.32 4.6.4) exchanges width and height.
inline bool SwapsSides(int orientation) { return orientation >= 5; }

// The part of the stored image (stored_width x stored_height) that becomes `upright` of the turned image.
Rect StoredRect(const Rect& upright, int orientation, int stored_width, int stored_height);

// Writes `stored` turned upright: dense rows at `stride` bytes, sides swapped where the orientation says so.
// `out` must not overlap.
void TurnUpright(const ImageView& stored, int orientation, uint8_t* out, size_t stride);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_ORIENTATION_H_
