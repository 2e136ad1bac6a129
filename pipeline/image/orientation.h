// Rotation and mirroring by EXIF orientation, one rectangle at a time.
#ifndef PENSTOCK_PIPELINE_IMAGE_ORIENTATION_H_
#define PENSTOCK_PIPELINE_IMAGE_ORIENTATION_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/image_view.h"

namespace penstock::image {

// Returns whether the orientation (1 to 8, EXIF 2.32 4.6.4) exchanges width and height.
inline bool SwapsSides(int orientation) { return orientation >= 5; }

// Returns the part of the stored image (stored_width x stored_height) that becomes `upright` after rotation.
Rect StoredRect(const Rect& upright, int orientation, int stored_width, int stored_height);

// Writes `stored` to `out` in upright orientation: rows of dense pixels, `stride` bytes from one row to the next. Width
// and height are exchanged if the orientation requires it. `out` must not overlap `stored`.
void TurnUpright(const ImageView& stored, int orientation, uint8_t* out, size_t stride);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_ORIENTATION_H_
