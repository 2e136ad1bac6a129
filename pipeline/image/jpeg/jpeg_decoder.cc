#include "pipeline/image/jpeg/jpeg_decoder.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "pipeline/image/color.h"
#include "pipeline/image/copy_rows.h"
#include "pipeline/image/jpeg/jpeg_errors.h"
#include "pipeline/image/jpeg/jpeg_scan.h"
#include "pipeline/image/jpeg/restart_table.h"

namespace penstock::image {
namespace {

// Fancy upsampling reads one chroma sample on each side: at most two pixels. Images and crops narrower than kNarrow
// columns are not cropped horizontally, because below three chroma columns libjpeg uses another upsampler.
constexpr int kUpsamplingBorder = 2;
constexpr int kNarrow = 64;

// The columns [left, right) that a decode of `rect`'s columns needs. At least kNarrow of them, if the image is that
// wide.
struct Columns {
  int left = 0, right = 0;
};

Columns NeededColumns(const Rect& rect, int image_width) {
  Columns columns{std::max(0, rect.x - kUpsamplingBorder),
                  std::min(image_width, rect.x + rect.width + kUpsamplingBorder)};
  columns.right = std::min(image_width, std::max(columns.right, columns.left + kNarrow));
  columns.left = std::max(0, std::min(columns.left, columns.right - kNarrow));
  return columns;
}

// Returns whether every coefficient has arrived in full precision, so that libjpeg does not smooth across block
// borders.
bool CoefficientsComplete(const jpeg_decompress_struct& cinfo) {
  if (cinfo.coef_bits == nullptr) return true;
  for (int c = 0; c < cinfo.num_components; ++c) {
    for (int i = 0; i < DCTSIZE2; ++i) {
      if (cinfo.coef_bits[c][i] != 0) return false;
    }
  }
  return true;
}

enum class Outcome { kDone, kOverLimits, kBadRect, kBadComponents, kFailed };

}  // namespace

struct JpegDecoder::State {
  jpeg_decompress_struct cinfo{};
  JpegErrors errors{};
  jpeg_progress_mgr progress{};
  std::vector<uint8_t> strip;
  JpegScan scan;
  uint64_t again = 0;

  Outcome Run(std::string_view bytes, const TileTable* table, const Rect& rect, const JpegOptions& options,
              ImageSink* sink);
  void Renew();
  void ReadRows(const Rect& rect, int left, int channels, ImageSink* sink);
  void ToChannels(uint8_t* pixels, int width, int channels) const;
};

void JpegDecoder::State::Renew() {
  jpeg_destroy_decompress(&cinfo);  // no effect on a zeroed object
  jpeg_create_decompress(&cinfo);
  cinfo.progress = &progress;
}

// libjpeg returns here by longjmp: no object with a destructor may live in this function or below it.
Outcome JpegDecoder::State::Run(std::string_view bytes, const TileTable* table, const Rect& rect,
                                const JpegOptions& options, ImageSink* sink) {
  errors.Reset(!options.lenient);
  if (setjmp(errors.back) != 0) return Outcome::kFailed;

  // libjpeg keeps quantization and Huffman tables. Each image gets a new object, so that a file without its own tables
  // is not decoded with those of the previous image.
  Renew();
  jpeg_mem_src(&cinfo, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&cinfo, TRUE);
  const ImageHeader header{.width = static_cast<int>(cinfo.image_width),
                           .height = static_cast<int>(cinfo.image_height),
                           .components = cinfo.num_components,
                           .progressive = cinfo.progressive_mode != 0,
                           .several_scans = cinfo.progressive_mode != 0 || cinfo.comps_in_scan < cinfo.num_components};
  if (header.width > static_cast<int64_t>(options.limits.max_side) ||
      header.height > static_cast<int64_t>(options.limits.max_side) ||
      static_cast<uint64_t>(header.width) * static_cast<uint64_t>(header.height) > options.limits.max_pixels) {
    return Outcome::kOverLimits;
  }
  if (!rect.Inside(header.width, header.height)) return Outcome::kBadRect;
  switch (cinfo.num_components) {
    case 1:
    case 3:
      cinfo.out_color_space = cinfo.num_components == 1 && options.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      break;
    case 4:
      cinfo.out_color_space = JCS_CMYK;
      break;
    default:
      return Outcome::kBadComponents;
  }
  cinfo.dct_method = JDCT_ISLOW;
  cinfo.do_fancy_upsampling = TRUE;
  cinfo.mem->max_memory_to_use = static_cast<long>(JpegDecoderBytes(header));
  errors.in_scan = true;
  jpeg_start_decompress(&cinfo);
  const bool own_scan = !options.libjpeg_alone && scan.Install(&cinfo, bytes, table);

  // Smoothing of incomplete progressive images crosses block borders, so cropping would change its result.
  const bool may_crop = CoefficientsComplete(cinfo);
  int left = 0;
  const Columns columns = NeededColumns(rect, header.width);
  if (may_crop && header.width > kNarrow && columns.right - columns.left < header.width) {
    JDIMENSION offset = static_cast<JDIMENSION>(columns.left);
    JDIMENSION width = static_cast<JDIMENSION>(columns.right - columns.left);
    jpeg_crop_scanline(&cinfo, &offset, &width);
    left = static_cast<int>(offset);
    if (own_scan) {
      // The columns that libjpeg transforms. In a file with one component an MCU is one block, whatever its sampling
      // factors.
      const int factor = cinfo.num_components == 1 ? 1 : cinfo.max_h_samp_factor;
      const JDIMENSION mcu_width = static_cast<JDIMENSION>(DCTSIZE * factor);
      scan.SetColumns(offset / mcu_width, (offset + width - 1) / mcu_width);
    }
  }
  if (may_crop && rect.y > 0) jpeg_skip_scanlines(&cinfo, static_cast<JDIMENSION>(rect.y));
  ReadRows(rect, left, options.channels, sink);
  return Outcome::kDone;
}

// The sink returns before the next call of libjpeg, so none of its frames is on the stack when libjpeg jumps.
void JpegDecoder::State::ReadRows(const Rect& rect, int left, int channels, ImageSink* sink) {
  const size_t row_bytes = static_cast<size_t>(cinfo.output_width) * static_cast<size_t>(cinfo.out_color_components);
  if (strip.size() < kStripRows * row_bytes) {
    strip = {};  // freed before the new one is allocated; resize() alone would copy it and could double it
    strip.resize(kStripRows * row_bytes);
  }
  JSAMPROW rows[kStripRows];
  for (size_t r = 0; r < kStripRows; ++r) rows[r] = strip.data() + r * row_bytes;
  while (static_cast<int>(cinfo.output_scanline) < rect.y) jpeg_read_scanlines(&cinfo, rows, 1);
  const size_t skip = static_cast<size_t>(rect.x - left) * static_cast<size_t>(cinfo.out_color_components);
  for (int y = 0; y < rect.height;) {
    const JDIMENSION height = static_cast<JDIMENSION>(std::min<int>(kStripRows, rect.height - y));
    for (JDIMENSION read = 0; read < height;) {
      // 0 would mean the image's end, which the rectangle never exceeds. The maximum ensures that the loop ends anyway.
      read += std::max<JDIMENSION>(1, jpeg_read_scanlines(&cinfo, rows + read, height - read));
    }
    for (JDIMENSION r = 0; r < height; ++r) ToChannels(rows[r] + skip, rect.width, channels);
    sink->Rows({strip.data() + skip, rect.width, static_cast<int>(height), channels, row_bytes});
    y += static_cast<int>(height);
  }
}

// Converts in place.
void JpegDecoder::State::ToChannels(uint8_t* pixels, int width, int channels) const {
  if (cinfo.out_color_space == JCS_CMYK) RowInvertedCmykToRgb(pixels, width, pixels);
  if (cinfo.out_color_space != JCS_GRAYSCALE && channels == 1) RowRgbToGray(pixels, width, pixels);
}

size_t JpegDecoderBytes(const ImageHeader& header) {
  // Rows: each component has an iMCU row of samples (up to 32 rows, including context rows), color conversion buffers
  // and its share of a strip. Sampling factors up to 4 pad the width to 32. Coefficients: two bytes each, padded
  // likewise.
  const size_t width = (static_cast<size_t>(header.width) + 63) / 32 * 32;
  const size_t height = (static_cast<size_t>(header.height) + 63) / 32 * 32;
  const size_t components = static_cast<size_t>(std::max(1, header.components));
  const size_t coefficients = header.several_scans ? width * height * components * sizeof(JCOEF) : 0;
  return width * components * 96 + coefficients + (size_t{416} << 10);
}

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.cinfo.err = s.errors.Install();
  s.progress.progress_monitor = StopAtManyScans;
  if (setjmp(s.errors.back) != 0) PS_CHECK(!"libjpeg has the version it was compiled against");
  s.Renew();
}

JpegDecoder::~JpegDecoder() { jpeg_destroy_decompress(&state_->cinfo); }

size_t JpegDecoder::held_bytes() const { return sizeof(State) + state_->strip.capacity() + state_->scan.held_bytes(); }

uint64_t JpegDecoder::decoded_again() const { return state_->again; }

absl::StatusOr<bool> JpegDecoder::Decode(std::string_view bytes, const Rect& rect, const JpegOptions& options,
                                         uint8_t* out, size_t stride) {
  ImageCopier copier(out, stride);
  return Decode(bytes, rect, options, &copier);
}

absl::StatusOr<bool> JpegDecoder::Decode(std::string_view bytes, const Rect& rect, const JpegOptions& options,
                                         ImageSink* sink) {
  PS_CHECK(options.channels == 1 || options.channels == 3);
  State& s = *state_;
  if (!options.libjpeg_alone) s.scan.Prepare();
  const auto table = TileTable::Read(bytes);
  Outcome outcome = s.Run(bytes, table ? &*table : nullptr, rect, options, sink);
  if (outcome == Outcome::kFailed && !options.libjpeg_alone && s.scan.gave_up()) {
    JpegOptions alone = options;
    alone.libjpeg_alone = true;
    ++s.again;
    sink->Restart();
    outcome = s.Run(bytes, nullptr, rect, alone, sink);
  }
  const ImageHeader header{.width = static_cast<int>(s.cinfo.image_width),
                           .height = static_cast<int>(s.cinfo.image_height)};
  const int components = s.cinfo.num_components;
  jpeg_abort_decompress(&s.cinfo);  // frees the image's memory
  switch (outcome) {
    case Outcome::kDone:
      return s.errors.damaged;
    case Outcome::kOverLimits:
      return CheckLimits(header, options.limits);
    case Outcome::kBadRect:
      return absl::InvalidArgumentError(absl::StrCat("the rectangle ", rect.x, ",", rect.y, " ", rect.width, " x ",
                                                     rect.height, " is not inside the image of ", header.width, " x ",
                                                     header.height));
    case Outcome::kBadComponents:
      return absl::InvalidArgumentError(absl::StrCat("a JPEG with ", components, " components; 1, 3 or 4 are read"));
    case Outcome::kFailed:
      break;
  }
  return s.errors.ToStatus();
}

}  // namespace penstock::image
