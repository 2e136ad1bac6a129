#include "pipeline/import/image_start.h"

#include "base/file.h"

namespace penstock::imports {

bool BeginsAsImage(std::string_view bytes) {
  const auto begins = [&](std::string_view start) { return bytes.substr(0, start.size()) == start; };
  const bool webp = begins("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP";
  return webp || begins("\xFF\xD8\xFF") || begins("\x89PNG\r\n\x1A\n") || begins("GIF87a") || begins("GIF89a") ||
         begins("BM");
}

bool MayBeImageFile(const std::string& path) {
  char first[12];
  const auto file = OpenFile(path);
  if (!file.ok()) return true;
  const auto length = (*file)->ReadAt(0, sizeof(first), first);
  return !length.ok() || BeginsAsImage({first, *length});
}

}  // namespace penstock::imports
