// The one EXIF field that changes pixels.
#ifndef PENSTOCK_PIPELINE_IMAGE_EXIF_H_
#define PENSTOCK_PIPELINE_IMAGE_EXIF_H_

#include <string_view>

namespace penstock {

// Orientation (1 to 8) in a TIFF block: what follows "Exif\0\0" in a JPEG's APP1, or a PNG's eXIf or WebP's EXIF
// chunk. 1 when it is missing or makes no sense. Format: EXIF 2.32, 4.6.2, TIFF 6.0 section 2.
int ExifOrientation(std::string_view tiff);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_EXIF_H_
