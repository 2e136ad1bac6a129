#include "pipeline/image/formats/png.h"

#include <spng.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/image/byte_reader.h"
#include "pipeline/image/formats/pixels.h"
#include "pipeline/image/png/png_chunks.h"
#include "pipeline/image/png/png_store.h"

namespace penstock::image {
namespace {

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

// Presents to libspng the signature and the chunks that affect the pixels (PNG specification, 11.2). Colors are not
// managed and alpha is unused. libspng would inflate, keep and validate the other chunks.
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
  size_t at_ = 0, left_ = 8;  // offset, and bytes left of the signature or the current chunk
};

int ReadChunks(spng_ctx*, void* chunks, void* to, size_t count) {
  return static_cast<PixelChunks*>(chunks)->Read(to, count);
}

absl::Status Failed(const char* what, int error) {
  return WithFault(error == SPNG_IO_EOF ? Fault::kTruncatedImage : Fault::kDamagedImage,
                   absl::DataLossError(absl::StrCat(what, ": libspng: ", spng_strerror(error))));
}

// Adam7: the first column and the step of each pass. The last entry also serves images without interlacing.
struct Pass {
  int start, step;
};
constexpr Pass kPasses[7] = {{0, 8}, {4, 8}, {0, 4}, {2, 4}, {0, 2}, {1, 2}, {0, 1}};

constexpr char kDamaged[] = "the PNG does not decode; it is damaged or cut off";

absl::Status ReadLayout(spng_ctx* context, const spng_ihdr& ihdr, PngLayout* layout) {
  layout->width = static_cast<int>(ihdr.width);
  layout->height = static_cast<int>(ihdr.height);
  layout->color = static_cast<PngColor>(ihdr.color_type);
  layout->depth = ihdr.bit_depth;
  layout->interlaced = ihdr.interlace_method != SPNG_INTERLACE_NONE;
  if (ihdr.color_type != SPNG_COLOR_TYPE_INDEXED) return absl::OkStatus();
  spng_plte plte;
  if (int error = spng_get_plte(context, &plte); error != 0) return Failed(kDamaged, error);
  layout->palette_size = static_cast<int>(plte.n_entries);
  for (size_t i = 0; i < plte.n_entries; ++i) {
    uint8_t* color = layout->palette.data() + 3 * i;
    color[0] = plte.entries[i].red;
    color[1] = plte.entries[i].green;
    color[2] = plte.entries[i].blue;
  }
  return absl::OkStatus();
}

}  // namespace

size_t PngBytes(const ImageHeader& header) {
  const size_t width = static_cast<size_t>(header.width);
  // Rows of up to 8 bytes per pixel: two and an interlaced one in libspng, two here. The constant covers libspng and
  // zlib themselves, with the window and a read buffer. Images in several passes need the whole picture.
  const size_t whole = header.progressive ? width * static_cast<size_t>(header.height) * 3 : 0;
  return PngReader::Bytes(header) + width * 8 * 5 + (size_t{96} << 10) + whole;
}

absl::Status DecodePngSlowly(std::string_view bytes, const ImageHeader& header, const Rect& rect, int channels,
                             ImageSink* sink, bool classes) {
  const Context context(spng_ctx_new(0));
  if (context == nullptr) return absl::ResourceExhaustedError("no memory for a PNG decoder");
  PixelChunks chunks(bytes, ReadBigEndian(bytes, 25, 1) == SPNG_COLOR_TYPE_INDEXED);
  spng_ihdr ihdr;
  if (int error = spng_set_image_limits(context.get(), static_cast<uint32_t>(header.width),
                                        static_cast<uint32_t>(header.height));
      error != 0) {
    return Failed(kDamaged, error);
  }
  if (int error = spng_set_png_stream(context.get(), ReadChunks, &chunks); error != 0) return Failed(kDamaged, error);
  if (int error = spng_get_ihdr(context.get(), &ihdr); error != 0) return Failed(kDamaged, error);
  PS_RETURN_IF_ERROR(CheckSize("PNG", header, ihdr.width, ihdr.height));
  // SPNG_FMT_RAW: as stored, big-endian. StorePngPixels converts the pixels.
  int error = spng_decode_image(context.get(), nullptr, 0, SPNG_FMT_RAW, SPNG_DECODE_PROGRESSIVE);
  if (error != 0) return Failed(kDamaged, error);
  PngLayout layout;
  PS_RETURN_IF_ERROR(ReadLayout(context.get(), ihdr, &layout));
  std::vector<uint8_t> raw(layout.RowBytes(ihdr.width));
  const size_t row_bytes = static_cast<size_t>(header.width) * static_cast<size_t>(channels);
  std::vector<uint8_t> out(row_bytes * (layout.interlaced ? static_cast<size_t>(header.height) : 1));
  while (error == 0) {
    spng_row_info row;
    if (error = spng_get_row_info(context.get(), &row); error != 0) return Failed(kDamaged, error);
    const Pass pass = layout.interlaced ? kPasses[row.pass] : kPasses[6];
    error = spng_decode_scanline(context.get(), raw.data(), raw.size());
    if (error != 0 && error != SPNG_EOI) return Failed(kDamaged, error);
    const int y = static_cast<int>(row.row_num), count = (header.width - pass.start + pass.step - 1) / pass.step;
    uint8_t* const to = out.data() + (layout.interlaced ? static_cast<size_t>(y) * row_bytes : 0) +
                        static_cast<size_t>(pass.start * channels);
    StorePngPixels(layout, raw.data(), 0, count, channels, classes, static_cast<size_t>(pass.step), to);
    if (layout.interlaced || y < rect.y || y >= rect.y + rect.height) continue;
    const ImageView view{out.data(), header.width, 1, channels, row_bytes};
    sink->Rows(view.Crop({rect.x, 0, rect.width, 1}));
  }
  // Reads up to the end marker, which also detects a file that is truncated after its last pixel.
  if (error = spng_decode_chunks(context.get()); error != 0) return Failed(kDamaged, error);
  if (layout.interlaced) {
    sink->Rows(ImageView{out.data(), header.width, header.height, channels, row_bytes}.Crop(rect));
  }
  return absl::OkStatus();
}

absl::Status DecodePng(PngReader* reader, std::string_view bytes, const ImageHeader& header, const Rect& rect,
                       int channels, ImageSink* sink, bool classes) {
  PS_CHECK(rect.Inside(header.width, header.height));
  if (reader->Read(bytes, header, rect, channels, sink, classes)) return absl::OkStatus();
  sink->Restart();
  return DecodePngSlowly(bytes, header, rect, channels, sink, classes);
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

}  // namespace penstock::image
