// A PNG's orientation, from chunks anywhere in the file.
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_PNG_ORIENTATION_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_PNG_ORIENTATION_H_

#include <string_view>

namespace penstock {

// 1 to 8, from eXIf, "Raw profile type exif" and "XML:com.adobe.xmp" (orientation_tags.h). `png` begins with the
// signature. Of a compressed text the first 64 KiB are looked at; allocates at most 256 KiB, and nothing without one.
int PngOrientation(std::string_view png);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_PNG_ORIENTATION_H_
