// Recognizes images by their first bytes, for sources that also hold other files.
#ifndef PENSTOCK_PIPELINE_IMPORT_IMAGE_START_H_
#define PENSTOCK_PIPELINE_IMPORT_IMAGE_START_H_

#include <string>
#include <string_view>

namespace penstock::imports {

// Returns whether the first bytes (12 suffice) are those of an image of a supported kind (ProbeImage).
bool BeginsAsImage(std::string_view bytes);

// As BeginsAsImage(), for a file. Returns true for an unreadable file, whose error is then reported when it is read.
bool MayBeImageFile(const std::string& path);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_IMAGE_START_H_
