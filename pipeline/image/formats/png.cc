#include "pipeline/image/formats/png.h"

#include <spng.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/image/byte_reader.h"

namespace penstock {
namespace {

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

// What libspng reads: the signature and the chunks on which pixels depend (PNG specification, 11.2; no color is managed
// and no alpha is used). The others it would inflate, keep and judge.
class PixelChunks {
 public:
  PixelChunks(std::string_view png, bool paletted) : png_(png), paletted_(paletted) {}

  int Read(void* to, size_t count) {
    for (char* at = static_cast<char*>(to); count > 0;) {
      if (left_ == 0 && !FindNext()) return SPNG_IO_EOF;
      const size_t part = std::min({count, left_, png_.size() - at_});
      if (part == 0) return SPNG_IO_EOF;
      std::memcpy(at, png_.data() + at_, part);
      at += part;
      at_ += part;
      left_ -= part;
      count -= part;
    }
    return 0;
  }

 private:
  bool FindNext() {
    constexpr size_t kFrame = 12;  // length, type, CRC
    while (true) {
      const int64_t length = ReadBigEndian(png_, at_, 4);
      const std::string_view type = Slice(png_, at_ + 4, 4);
      if (length < 0 || type.size() < 4) return false;
      left_ = kFrame + static_cast<size_t>(length);
      if (type == "IHDR" || type == "IDAT" || type == "IEND" || (paletted_ && type == "PLTE")) return true;
      at_ += left_;
      left_ = 0;
    }
  }

  const std::string_view png_;
  const bool paletted_;
  size_t at_ = 0, left_ = 8;  // of the signature or the chunk that is being read
};

int ReadChunks(spng_ctx*, void* chunks, void* to, size_t count) {
  return static_cast<PixelChunks*>(chunks)->Read(to, count);
}

absl::Status Failed(const char* what, int error) {
  return WithFault(error == SPNG_IO_EOF ? Fault::kTruncatedImage : Fault::kDamagedImage,
                   absl::DataLossError(absl::StrCat(what, ": libspng: ", spng_strerror(error))));
}

// Adam7: where the pixels of a pass lie. Without interlacing, the last one's columns.
struct Pass {
  int start, step;
};
constexpr Pass kPasses[7] = {{0, 8}, {4, 8}, {0, 4}, {2, 4}, {0, 2}, {1, 2}, {0, 1}};

struct Layout {
  int color_type = 0, depth = 0;
  Palette palette;

  size_t Channels() const {
    return color_type == SPNG_COLOR_TYPE_TRUECOLOR         ? 3
           : color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA ? 4
           : color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ? 2
                                                           : 1;
  }
  size_t RowBytes(size_t width) const { return (width * Channels() * static_cast<size_t>(depth) + 7) / 8; }
};

// `raw` holds the pixels of columns start, start + step, ... of a row that is `width` wide. Alpha is dropped, 16 bits
// become their high byte, fewer than 8 are spread over 0 to 255. False: a color that the palette lacks.
bool StoreRow(const uint8_t* raw, const Layout& layout, const Pass& pass, int width, int channels, uint8_t* out) {
  const size_t bytes = layout.depth == 16 ? 2 : 1, size = layout.Channels() * bytes;
  const bool colored = layout.Channels() >= 3;
  const int mask = (1 << std::min(layout.depth, 8)) - 1;
  if (colored && layout.depth == 8 && size == 3 && channels == 3 && pass.step == 1) {
    std::memcpy(out, raw, static_cast<size_t>(width) * 3);
    return true;
  }
  size_t i = 0;
  for (int x = pass.start; x < width; x += pass.step, ++i) {
    uint8_t* to = out + static_cast<size_t>(x) * static_cast<size_t>(channels);
    if (colored) {
      const uint8_t* pixel = raw + i * size;
      StorePixel(channels, pixel[0], pixel[bytes], pixel[2 * bytes], to);
      continue;
    }
    int value = 0;
    if (layout.depth >= 8) {
      value = raw[i * size];
    } else {
      const size_t bit = i * static_cast<size_t>(layout.depth);
      value = raw[bit / 8] >> (8 - layout.depth - static_cast<int>(bit % 8)) & mask;
    }
    if (layout.color_type == SPNG_COLOR_TYPE_INDEXED) {
      if (!layout.palette.Store(value, channels, to)) return false;
    } else {
      const uint8_t gray = static_cast<uint8_t>(layout.depth < 8 ? value * 255 / mask : value);
      std::fill(to, to + channels, gray);
    }
  }
  return true;
}

}  // namespace

size_t PngBytes(const ImageHeader& header) {
  // Rows of at most 8 bytes a pixel: two and an interlaced one in libspng, one here; and what it and zlib need by
  // themselves, with the window and a buffer to read.
  return static_cast<size_t>(header.width) * 8 * 4 + (size_t{96} << 10);
}

absl::Status DecodePng(std::string_view bytes, const ImageHeader& header, const Canvas& canvas) {
  const Context context(spng_ctx_new(0));
  if (context == nullptr) return absl::ResourceExhaustedError("no memory for a PNG decoder");
  PixelChunks chunks(bytes, ReadBigEndian(bytes, 25, 1) == SPNG_COLOR_TYPE_INDEXED);
  constexpr const char* kWhat = "the PNG does not decode; it is damaged or cut off";
  spng_ihdr ihdr;
  if (int error = spng_set_image_limits(context.get(), static_cast<uint32_t>(header.width),
                                        static_cast<uint32_t>(header.height));
      error != 0) {
    return Failed(kWhat, error);
  }
  if (int error = spng_set_png_stream(context.get(), ReadChunks, &chunks); error != 0) return Failed(kWhat, error);
  if (int error = spng_get_ihdr(context.get(), &ihdr); error != 0) return Failed(kWhat, error);
  PS_RETURN_IF_ERROR(CheckSize("PNG", header, ihdr.width, ihdr.height));
  Layout layout;
  layout.color_type = ihdr.color_type;
  layout.depth = ihdr.bit_depth;
  // As stored, big-endian: what becomes of it is said above.
  int error = spng_decode_image(context.get(), nullptr, 0, SPNG_FMT_RAW, SPNG_DECODE_PROGRESSIVE);
  if (error != 0) return Failed(kWhat, error);
  if (ihdr.color_type == SPNG_COLOR_TYPE_INDEXED) {
    spng_plte plte;
    if (error = spng_get_plte(context.get(), &plte); error != 0) return Failed(kWhat, error);
    layout.palette.size = static_cast<int>(plte.n_entries);
    for (int i = 0; i < layout.palette.size; ++i) {
      uint8_t* color = layout.palette.rgb[i];
      color[0] = plte.entries[i].red;
      color[1] = plte.entries[i].green;
      color[2] = plte.entries[i].blue;
    }
  }
  std::vector<uint8_t> raw(layout.RowBytes(ihdr.width));
  while (error == 0) {
    spng_row_info row;
    if (error = spng_get_row_info(context.get(), &row); error != 0) return Failed(kWhat, error);
    const Pass pass = ihdr.interlace_method == SPNG_INTERLACE_NONE ? kPasses[6] : kPasses[row.pass];
    error = spng_decode_scanline(context.get(), raw.data(), raw.size());
    if (error != 0 && error != SPNG_EOI) return Failed(kWhat, error);
    if (!StoreRow(raw.data(), layout, pass, header.width, canvas.channels, canvas.Row(static_cast<int>(row.row_num)))) {
      return absl::DataLossError("the PNG is damaged: a pixel has a color that its palette lacks");
    }
  }
  // Up to the end marker, so that a file that was cut off behind its last pixel is found too.
  if (error = spng_decode_chunks(context.get()); error != 0) return Failed(kWhat, error);
  return absl::OkStatus();
}

absl::StatusOr<std::string> EncodePng(const ImageView& image) {
  if (image.width <= 0 || image.height <= 0 || (image.channels != 1 && image.channels != 3)) {
    return absl::InvalidArgumentError(absl::StrCat("no PNG can be made of ", image.width, " x ", image.height,
                                                   " pixels of ", image.channels, " channels"));
  }
  const Context context(spng_ctx_new(SPNG_CTX_ENCODER));
  if (context == nullptr) return absl::ResourceExhaustedError("no memory for a PNG encoder");
  constexpr const char* kWhat = "the PNG could not be written";
  spng_ihdr ihdr = {};
  ihdr.width = static_cast<uint32_t>(image.width);
  ihdr.height = static_cast<uint32_t>(image.height);
  ihdr.bit_depth = 8;
  ihdr.color_type = image.channels == 3 ? SPNG_COLOR_TYPE_TRUECOLOR : SPNG_COLOR_TYPE_GRAYSCALE;
  int error = spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  if (error == 0) error = spng_set_ihdr(context.get(), &ihdr);
  if (error == 0) {
    error = spng_encode_image(context.get(), nullptr, 0, SPNG_FMT_PNG, SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE);
  }
  for (int y = 0; error == 0 && y < image.height; ++y) {
    error = spng_encode_row(context.get(), image.row(y), image.row_bytes());
  }
  if (error != SPNG_EOI) return absl::InternalError(absl::StrCat(kWhat, ": libspng: ", spng_strerror(error)));
  size_t size = 0;
  const std::unique_ptr<void, decltype(&std::free)> buffer(spng_get_png_buffer(context.get(), &size, &error),
                                                           &std::free);
  if (buffer == nullptr) return absl::InternalError(absl::StrCat(kWhat, ": libspng: ", spng_strerror(error)));
  return std::string(static_cast<const char*>(buffer.get()), size);
}

}  // namespace penstock
