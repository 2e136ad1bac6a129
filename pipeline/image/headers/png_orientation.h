// The orientation of a PNG, from chunks anywhere in the file.
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_PNG_ORIENTATION_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_PNG_ORIENTATION_H_

#include <string_view>

namespace penstock::image {

// Returns the orientation, 1 to 8, from eXIf, "Raw profile type exif" and "XML:com.adobe.xmp" (orientation_tags.h).
// `png` begins with the signature. Reads at most the first 64 KiB of a compressed text. Allocates at most 256 KiB.
int PngOrientation(std::string_view png);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_PNG_ORIENTATION_H_
