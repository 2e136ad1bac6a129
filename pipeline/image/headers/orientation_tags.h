// Where a file says how its picture is to be turned: EXIF, ImageMagick's raw profile, XMP. The order of their say, and
// what counts in each, is Pillow's (ImageOps.exif_transpose).
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_ORIENTATION_TAGS_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_ORIENTATION_TAGS_H_

#include <optional>
#include <string_view>

namespace penstock {

// The value of the orientation tag, sound or not, in a TIFF block: what follows "Exif\0\0" in a JPEG's APP1, or a PNG's
// eXIf or WebP's EXIF chunk, with or without that prefix. Format: EXIF 2.32, 4.6.2, TIFF 6.0 section 2.
std::optional<int> ExifOrientation(std::string_view tiff);

// What one file has of them. The views must live until orientation() is called.
class OrientationTags {
 public:
  // A TIFF block as above. The first of several counts.
  void AddExif(std::string_view tiff);
  // A PNG's text "Raw profile type exif": three lines, then the block in hexadecimal. Does not count beside EXIF.
  void AddRawProfile(std::string_view text) { raw_profile_ = text; }
  // An XMP packet; the last counts, where neither of the above has the tag.
  void AddXmp(std::string_view packet) { xmp_ = packet; }

  // 1 to 8; 1 where there is none, or one that makes no sense.
  int orientation() const;

 private:
  bool has_exif_ = false;
  std::optional<int> exif_;
  std::string_view raw_profile_, xmp_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_ORIENTATION_TAGS_H_
