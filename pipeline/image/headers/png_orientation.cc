#include "pipeline/image/headers/png_orientation.h"

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "pipeline/image/byte_reader.h"
#include "pipeline/image/headers/orientation_tags.h"

namespace penstock::image {
namespace {

constexpr std::string_view kRawProfile = "Raw profile type exif", kXmpKeyword = "XML:com.adobe.xmp";
constexpr size_t kMaxTextBytes = size_t{64} << 10;

// Returns the first kMaxTextBytes of a zlib stream's content.
std::string Inflate(std::string_view compressed) {
  std::string text(kMaxTextBytes, '\0');
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return "";
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  (void)inflate(&stream, Z_SYNC_FLUSH);
  text.resize(text.size() - stream.avail_out);
  inflateEnd(&stream);
  return text;
}

// Removes and returns the bytes before the next zero byte of `rest`, or all of it if there is none.
std::string_view TakeText(std::string_view* rest) {
  const size_t end = rest->find('\0');
  const std::string_view text = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return text;
}

// The two texts that may hold an orientation, inflated if they are compressed.
class Texts {
 public:
  // PNG specification, 11.3.3: the keyword of a tEXt, zTXt or iTXt chunk, then its text.
  void Take(std::string_view type, std::string_view chunk) {
    const std::string_view keyword = TakeText(&chunk);
    if (keyword != kRawProfile && keyword != kXmpKeyword) return;
    bool compressed = type == "zTXt";
    if (compressed) {
      if (chunk.empty() || chunk[0] != 0) return;
      chunk.remove_prefix(1);
    } else if (type == "iTXt") {
      if (chunk.size() < 2) return;
      compressed = chunk[0] != 0;
      if (compressed && chunk[1] != 0) return;
      chunk.remove_prefix(2);
      TakeText(&chunk);  // language
      TakeText(&chunk);  // keyword in that language
    }
    const bool profile = keyword == kRawProfile;
    std::string_view* const text = profile ? &profile_ : &xmp_;
    *text = chunk;
    if (compressed) {
      std::string* const held = profile ? &held_profile_ : &held_xmp_;
      *held = Inflate(chunk);
      *text = *held;
    }
  }

  std::string_view profile() const { return profile_; }
  std::string_view xmp() const { return xmp_; }

 private:
  std::string_view profile_, xmp_;
  std::string held_profile_, held_xmp_;
};

}  // namespace

int PngOrientation(std::string_view png) {
  OrientationTags tags;
  Texts texts;
  for (size_t at = 8; at + 8 <= png.size();) {
    const size_t length = static_cast<size_t>(ReadBigEndian(png, at, 4));
    const std::string_view type = Slice(png, at + 4, 4), chunk = Slice(png, at + 8, length);
    if (type == "IEND") break;
    if (type == "eXIf") {
      tags.AddExif(chunk);
    } else if (type == "tEXt" || type == "zTXt" || type == "iTXt") {
      texts.Take(type, chunk);
    }
    at += length + 12;
  }
  tags.AddRawProfile(texts.profile());
  tags.AddXmp(texts.xmp());
  return tags.orientation();
}

}  // namespace penstock::image
