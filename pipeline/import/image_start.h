// Recognizes images by their first bytes, for sources that also hold other files.
#ifndef PENSTOCK_PIPELINE_IMPORT_IMAGE_START_H_
#define PENSTOCK_PIPELINE_IMPORT_IMAGE_START_H_

#include <string>
#include <string_view>

namespace penstock::imports {

// Returns whether the first bytes (12 suffice) are those of an image of a supported kind (ProbeImage).
bool BeginsAsImage(std::string_view bytes);

// Returns whether a file begins as an image. Also returns true for an unreadable file. A later read reports its error.
bool MayBeImageFile(const std::string& path);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_IMAGE_START_H_
