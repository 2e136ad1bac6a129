// Whether a file is an image, by its first bytes: for sources that hold other files too.
#ifndef PENSTOCK_PIPELINE_IMPORT_IMAGE_START_H_
#define PENSTOCK_PIPELINE_IMPORT_IMAGE_START_H_

#include <string>
#include <string_view>

namespace penstock {

// Whether these are the first bytes of an image of a kind that is read (ProbeImage); 12 of them are enough.
bool BeginsAsImage(std::string_view bytes);

// The same of a file; true of one that cannot be read, so that its own error is said later.
bool MayBeImageFile(const std::string& path);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_IMAGE_START_H_
