// The sources of a file's orientation: EXIF, ImageMagick's raw profile, XMP. Their precedence and their interpretation
// follow Pillow (ImageOps.exif_transpose).
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_ORIENTATION_TAGS_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_ORIENTATION_TAGS_H_

#include <optional>
#include <string_view>

namespace penstock::image {

// Returns the value of the orientation tag in a TIFF block, or 0 if it exceeds 8. Returns nullopt if the block has no
// tag with a single unsigned integer. The block is the data after "Exif\0\0" in a JPEG's APP1, a PNG's eXIf chunk or a
// WebP's EXIF chunk, with or without that prefix. Format: EXIF 2.32, 4.6.2, TIFF 6.0 section 2.
std::optional<int> ExifOrientation(std::string_view tiff);

// The orientation tags of one file. The views must live until orientation() is called.
class OrientationTags {
 public:
  // Adds a TIFF block as above. Only the first one counts.
  void AddExif(std::string_view tiff);
  // Adds a PNG's text "Raw profile type exif": three lines, then the block in hexadecimal. It counts only if there is
  // no TIFF block.
  void AddRawProfile(std::string_view text) { raw_profile_ = text; }
  // Adds an XMP packet. The last one counts, and only if the TIFF block, or else the raw profile, lacks the tag.
  void AddXmp(std::string_view packet) { xmp_ = packet; }

  // Returns the orientation, 1 to 8. Returns 1 if there is none or if it is invalid.
  int orientation() const;

 private:
  bool has_exif_ = false;
  std::optional<int> exif_;
  std::string_view raw_profile_, xmp_;
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_ORIENTATION_TAGS_H_
