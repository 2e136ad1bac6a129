// Any bytes as a PNG or as its picture data. libspng accepts every file that our reader accepts, with the same pixels.
// A rectangle is a part of the whole. zlib accepts every stream that our inflater accepts. The target also repairs
// checksums, to reach the code after their check.
//
// The first eight bytes place the rectangle. The next four choose the use of the rest and the kind of picture.
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "pipeline/image/copy_rows.h"
#include "pipeline/image/formats/png.h"
#include "pipeline/image/image_header.h"
#include "tests/pipeline/image/png/png_maker.h"

namespace {

using penstock::image::ImageHeader;
using penstock::image::Rect;

constexpr penstock::image::ImageLimits kLimits{.max_pixels = 1 << 14, .max_side = 1024};
constexpr size_t kPlaceBytes = 8, kKindBytes = 4;

struct Decoded {
  bool ok = false;
  std::vector<uint8_t> pixels;
};

Rect PlaceRect(const uint8_t* bytes, const ImageHeader& header) {
  const auto number = [bytes](int i) { return bytes[2 * i] << 8 | bytes[2 * i + 1]; };
  Rect rect;
  rect.width = 1 + number(0) % header.width;
  rect.height = 1 + number(1) % header.height;
  rect.x = number(2) % (header.width - rect.width + 1);
  rect.y = number(3) % (header.height - rect.height + 1);
  return rect;
}

template <typename Decode>
Decoded DecodeTo(const Rect& rect, int channels, Decode decode) {
  Decoded decoded;
  const size_t row = static_cast<size_t>(rect.width * channels);
  decoded.pixels.resize(row * static_cast<size_t>(rect.height));
  penstock::image::ImageCopier copier(decoded.pixels.data(), row);
  decoded.ok = decode(&copier);
  return decoded;
}

void CheckPng(const std::string& png, const uint8_t* place) {
  const auto header = penstock::image::ProbeImage(png);
  if (!header.ok() || header->format != penstock::image::ImageFormat::kPng || !CheckLimits(*header, kLimits).ok())
    return;
  static auto* const reader = new penstock::image::PngReader;
  const int channels = place[0] % 2 == 0 ? 3 : 1;
  const Rect whole{0, 0, header->width, header->height}, part = PlaceRect(place, *header);
  const auto slowly = [&](const Rect& rect) {
    return DecodeTo(rect, channels, [&](penstock::image::ImageSink* sink) {
      return DecodePngSlowly(png, *header, rect, channels, sink).ok();
    });
  };
  const Decoded all = slowly(whole), crop = slowly(part);
  PS_CHECK(all.ok == crop.ok);
  for (const bool is_whole : {true, false}) {
    const Rect& rect = is_whole ? whole : part;
    const Decoded& theirs = is_whole ? all : crop;
    const Decoded ours = DecodeTo(rect, channels, [&](penstock::image::ImageSink* sink) {
      return reader->Read(png, *header, rect, channels, sink);
    });
    const Decoded either = DecodeTo(rect, channels, [&](penstock::image::ImageSink* sink) {
      return DecodePng(reader, png, *header, rect, channels, sink).ok();
    });
    // The reader ignores data below a rectangle.
    if (ours.ok && (is_whole || theirs.ok)) PS_CHECK(theirs.ok && ours.pixels == theirs.pixels);
    if (theirs.ok) PS_CHECK(either.ok && either.pixels == theirs.pixels);
    if (is_whole) PS_CHECK(either.ok == theirs.ok);
  }
}

class OnePiece final : public penstock::image::InflaterInput {
 public:
  OnePiece(std::string_view bytes, size_t piece) : bytes_(bytes), piece_(piece) {}
  std::string_view Next() override {
    const std::string_view next = bytes_.substr(0, piece_);
    bytes_.remove_prefix(next.size());
    return next;
  }

 private:
  std::string_view bytes_;
  const size_t piece_;
};

void CheckStream(std::string_view stream, size_t piece) {
  std::string theirs(size_t{1} << 15, '\0');
  z_stream judge = {};
  PS_CHECK(inflateInit(&judge) == Z_OK);
  judge.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stream.data()));
  judge.avail_in = static_cast<uInt>(stream.size());
  judge.next_out = reinterpret_cast<Bytef*>(theirs.data());
  judge.avail_out = static_cast<uInt>(theirs.size());
  const bool sound = inflate(&judge, Z_FINISH) == Z_STREAM_END;
  theirs.resize(judge.total_out);
  inflateEnd(&judge);

  static auto* const inflater = new penstock::image::Inflater;
  OnePiece input(stream, piece);
  inflater->Start(&input, 64, theirs.size(), true);
  for (size_t at = 0; at < theirs.size();) {
    const size_t count = std::min<size_t>(1 + at % 64, theirs.size() - at);
    const uint8_t* const ours = inflater->Take(count);
    if (ours == nullptr) return;
    PS_CHECK(std::memcmp(ours, theirs.data() + at, count) == 0);
    at += count;
  }
  if (inflater->Finish()) PS_CHECK(sound);
}

// The file with every checksum corrected.
std::string PutRight(std::string png) {
  for (size_t at = 8; at + 12 <= png.size();) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(png.data()) + at;
    const size_t length = size_t{bytes[0]} << 24 | size_t{bytes[1]} << 16 | size_t{bytes[2]} << 8 | bytes[3];
    if (length > png.size() - at - 12) break;
    const std::string chunk = penstock::image::PngChunk(std::string_view(png).substr(at + 4, 4),
                                                        std::string_view(png).substr(at + 8, length));
    png.replace(at, chunk.size(), chunk);
    at += chunk.size();
  }
  return png;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kPlaceBytes + kKindBytes) return 0;
  const uint8_t* const kind = data + kPlaceBytes;
  const std::string_view rest(reinterpret_cast<const char*>(kind) + kKindBytes, size - kPlaceBytes - kKindBytes);
  if (kind[0] % 4 == 0) {
    CheckPng(std::string(rest), data);
    return 0;
  }
  if (kind[0] % 4 == 1) {
    CheckPng(PutRight(std::string(rest)), data);
    return 0;
  }
  CheckStream(rest, 1 + kind[3]);
  static constexpr std::pair<int, int> kKinds[] = {{2, 8}, {0, 8}, {6, 8}, {3, 8}, {0, 1}, {3, 4}, {2, 16}, {4, 8}};
  const auto [color, depth] = kKinds[kind[0] / 4 % std::size(kKinds)];
  std::string head = penstock::image::PngHeader(1u + kind[1], 1u + kind[2] % 64, color, depth, false);
  if (color == 3) head += penstock::image::PngChunk("PLTE", std::string(3 * (1 + kind[2] / 64 * 5), '\x41'));
  CheckPng(penstock::image::WrapPng(head, rest, 1u + kind[3]), data);
  return 0;
}
