// Names unsupported image formats by their first bytes.
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_UNREAD_FORMAT_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_UNREAD_FORMAT_H_

#include <string_view>

namespace penstock::image {

// Returns the format with its article, such as "a HEIC" or "an AVIF"; empty for other bytes.
std::string_view UnreadFormat(std::string_view bytes);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_UNREAD_FORMAT_H_
