#include "pipeline/image/jpeg_decoder.h"

#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
// After jpeglib.h.
#include <jerror.h>

#include "absl/strings/str_cat.h"
#include "pipeline/base/check.h"
#include "pipeline/base/status_macros.h"
#include "pipeline/image/colour.h"

namespace penstock {
namespace {

// libjpeg-turbo's own advice against files made of scans (its "Two Issues with the JPEG Standard").
constexpr int kMaxScans = 500;

// Fancy upsampling looks one chroma sample to each side: at most two pixels. Images and crops narrower than this
// many columns are not cropped horizontally: below three chroma columns libjpeg changes its upsampler.
constexpr int kBorder = 2;
constexpr int kNarrow = 64;

// Warnings that leave every pixel as it is.
bool IsHarmless(int code, bool in_scan) {
  switch (code) {
    case JWRN_JFIF_MAJOR:      // an unknown version of the JFIF header
    case JWRN_NOT_SEQUENTIAL:  // wrong spectral selection in a baseline scan header, which is not used
    case JWRN_TOO_MUCH_DATA:   // we stop reading on purpose
      return true;
    case JWRN_EXTRANEOUS_DATA:  // garbage between header segments
      return !in_scan;
    default:
      return false;
  }
}

struct ErrorManager {
  jpeg_error_mgr base;  // first: libjpeg hands out a pointer to it
  std::jmp_buf back;
  bool in_scan = false;
  bool damaged = false;
  bool strict = true;
  char message[JMSG_LENGTH_MAX] = {};

  void Remember(j_common_ptr cinfo) { (*base.format_message)(cinfo, message); }
};

ErrorManager* Errors(j_common_ptr cinfo) { return reinterpret_cast<ErrorManager*>(cinfo->err); }

[[noreturn]] void OnError(j_common_ptr cinfo) {
  ErrorManager* errors = Errors(cinfo);
  // A damaged file's first warning tells more than the error that follows from it.
  if (!errors->damaged || errors->message[0] == 0) errors->Remember(cinfo);
  std::longjmp(errors->back, 1);
}

void OnMessage(j_common_ptr cinfo, int level) {
  ErrorManager* errors = Errors(cinfo);
  if (level >= 0 || IsHarmless(errors->base.msg_code, errors->in_scan)) return;
  if (!errors->damaged) errors->Remember(cinfo);
  errors->damaged = true;
  // Stop at once: the rest of a damaged image is not wanted.
  if (errors->strict) std::longjmp(errors->back, 1);
}

void OnOutput(j_common_ptr) {}

void OnProgress(j_common_ptr cinfo) {
  if (!cinfo->is_decompressor) return;
  auto* decompress = reinterpret_cast<j_decompress_ptr>(cinfo);
  if (decompress->input_scan_number > kMaxScans) {
    ErrorManager* errors = Errors(cinfo);
    std::snprintf(errors->message, sizeof(errors->message), "more than %d scans", kMaxScans);
    errors->damaged = true;
    std::longjmp(errors->back, 1);
  }
}

// Whether every coefficient has arrived in full precision, so that libjpeg smooths nothing over block borders.
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
  ErrorManager errors{};
  jpeg_progress_mgr progress{};
  std::vector<uint8_t> row;

  Outcome Run(std::string_view bytes, const Rect& rect, const JpegOptions& options, uint8_t* out, size_t stride);
  void ReadRows(const Rect& rect, int left, int channels, uint8_t* out, size_t stride);
};

// libjpeg returns here by longjmp: no object with a destructor may live in this function or below it.
Outcome JpegDecoder::State::Run(std::string_view bytes, const Rect& rect, const JpegOptions& options, uint8_t* out,
                                size_t stride) {
  errors.in_scan = false;
  errors.damaged = false;
  errors.strict = !options.lenient;
  errors.message[0] = 0;
  if (setjmp(errors.back) != 0) return Outcome::kFailed;

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

  // Smoothing of incomplete progressive images crosses block borders in ways that cropping would change.
  const bool may_crop = CoefficientsComplete(cinfo);
  int left = 0;
  const int wanted_left = std::max(0, rect.x - kBorder);
  int wanted_right = std::min(header.width, rect.x + rect.width + kBorder);
  wanted_right = std::min(header.width, std::max(wanted_right, wanted_left + kNarrow));
  const int narrow_left = std::max(0, std::min(wanted_left, wanted_right - kNarrow));
  if (may_crop && header.width > kNarrow && wanted_right - narrow_left < header.width) {
    JDIMENSION offset = static_cast<JDIMENSION>(narrow_left);
    JDIMENSION width = static_cast<JDIMENSION>(wanted_right - narrow_left);
    jpeg_crop_scanline(&cinfo, &offset, &width);
    left = static_cast<int>(offset);
  }
  if (may_crop && rect.y > 0) jpeg_skip_scanlines(&cinfo, static_cast<JDIMENSION>(rect.y));
  ReadRows(rect, left, options.channels, out, stride);
  return Outcome::kDone;
}

void JpegDecoder::State::ReadRows(const Rect& rect, int left, int channels, uint8_t* out, size_t stride) {
  const size_t row_bytes = static_cast<size_t>(cinfo.output_width) * static_cast<size_t>(cinfo.out_color_components);
  if (row.size() < row_bytes) row.resize(row_bytes);
  JSAMPROW into = row.data();
  while (static_cast<int>(cinfo.output_scanline) < rect.y) jpeg_read_scanlines(&cinfo, &into, 1);
  const size_t skip = static_cast<size_t>(rect.x - left);
  for (int y = 0; y < rect.height; ++y, out += stride) {
    jpeg_read_scanlines(&cinfo, &into, 1);
    if (cinfo.out_color_space == JCS_CMYK) {
      uint8_t* pixels = row.data() + 4 * skip;
      RowInvertedCmykToRgb(pixels, rect.width, pixels);
      if (channels == 1) {
        RowRgbToGrey(pixels, rect.width, out);
      } else {
        std::memcpy(out, pixels, 3 * static_cast<size_t>(rect.width));
      }
    } else if (cinfo.out_color_space == JCS_GRAYSCALE) {
      std::memcpy(out, row.data() + skip, static_cast<size_t>(rect.width));
    } else if (channels == 1) {
      RowRgbToGrey(row.data() + 3 * skip, rect.width, out);
    } else {
      std::memcpy(out, row.data() + 3 * skip, 3 * static_cast<size_t>(rect.width));
    }
  }
}

size_t JpegDecoderBytes(const ImageHeader& header) {
  // Rows: each component has an iMCU row of samples (up to 32 rows, context rows among them) and colour conversion
  // buffers; sampling factors up to 4 pad the width to 32. Coefficients: two bytes each, padded likewise.
  const size_t width = (static_cast<size_t>(header.width) + 63) / 32 * 32;
  const size_t height = (static_cast<size_t>(header.height) + 63) / 32 * 32;
  const size_t components = static_cast<size_t>(std::max(1, header.components));
  const size_t coefficients = header.several_scans ? width * height * components * sizeof(JCOEF) : 0;
  return width * components * 96 + coefficients + (size_t{256} << 10);
}

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.cinfo.err = jpeg_std_error(&s.errors.base);
  s.errors.base.error_exit = OnError;
  s.errors.base.emit_message = OnMessage;
  s.errors.base.output_message = OnOutput;
  if (setjmp(s.errors.back) != 0) PS_CHECK(!"libjpeg has the version it was compiled against");
  jpeg_create_decompress(&s.cinfo);
  s.progress.progress_monitor = OnProgress;
  s.cinfo.progress = &s.progress;
}

JpegDecoder::~JpegDecoder() { jpeg_destroy_decompress(&state_->cinfo); }

size_t JpegDecoder::held_bytes() const { return sizeof(State) + state_->row.capacity(); }

absl::StatusOr<bool> JpegDecoder::Decode(std::string_view bytes, const Rect& rect, const JpegOptions& options,
                                         uint8_t* out, size_t stride) {
  PS_CHECK(options.channels == 1 || options.channels == 3);
  State& s = *state_;
  const Outcome outcome = s.Run(bytes, rect, options, out, stride);
  const ImageHeader header{.width = static_cast<int>(s.cinfo.image_width),
                           .height = static_cast<int>(s.cinfo.image_height)};
  const int components = s.cinfo.num_components;
  jpeg_abort_decompress(&s.cinfo);  // gives the image's memory back
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
  const std::string message = absl::StrCat("libjpeg: ", s.errors.message);
  if (s.errors.damaged) return absl::DataLossError(message);
  return absl::InvalidArgumentError(message);
}

}  // namespace penstock
