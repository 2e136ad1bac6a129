#include "pipeline/image/jpeg/jpeg_errors.h"

// Must follow jpeglib.h.
#include <jerror.h>

#include "absl/strings/str_cat.h"
#include "base/fault.h"

namespace penstock::image {
namespace {

constexpr int kMaxScans = 500;

// Returns whether a warning leaves every pixel as other readers decode it.
bool IsHarmless(int code, bool in_scan) {
  switch (code) {
    case JWRN_JFIF_MAJOR:      // an unknown version of the JFIF header
    case JWRN_NOT_SEQUENTIAL:  // wrong spectral selection in a baseline scan header; ignored
    case JWRN_ADOBE_XFORM:     // an unknown transform code; YCbCr (YCCK) is assumed
    case JWRN_TOO_MUCH_DATA:   // decoding stops early on purpose
      return true;
    case JWRN_EXTRANEOUS_DATA:  // garbage between header segments
      return !in_scan;
    default:
      return false;
  }
}

JpegErrors* Errors(j_common_ptr cinfo) { return reinterpret_cast<JpegErrors*>(cinfo->err); }

void Remember(j_common_ptr cinfo) {
  JpegErrors* errors = Errors(cinfo);
  (*cinfo->err->format_message)(cinfo, errors->message);
  errors->cut_off = errors->base.msg_code == JWRN_JPEG_EOF || errors->base.msg_code == JERR_INPUT_EOF;
}

[[noreturn]] void OnError(j_common_ptr cinfo) {
  JpegErrors* errors = Errors(cinfo);
  // A damaged file's first warning is more specific than the error that follows from it.
  if (!errors->damaged || errors->message[0] == 0) Remember(cinfo);
  std::longjmp(errors->back, 1);
}

void OnMessage(j_common_ptr cinfo, int level) {
  JpegErrors* errors = Errors(cinfo);
  if (level >= 0 || IsHarmless(errors->base.msg_code, errors->in_scan)) return;
  if (!errors->damaged) Remember(cinfo);
  errors->damaged = true;
  if (errors->strict) std::longjmp(errors->back, 1);
}

void OnOutput(j_common_ptr) {}

}  // namespace

jpeg_error_mgr* JpegErrors::Install() {
  jpeg_std_error(&base);
  base.error_exit = OnError;
  base.emit_message = OnMessage;
  base.output_message = OnOutput;
  return &base;
}

void JpegErrors::Reset(bool is_strict) {
  in_scan = false;
  damaged = cut_off = false;
  strict = is_strict;
  message[0] = 0;
}

absl::Status JpegErrors::ToStatus() const {
  const std::string text = absl::StrCat("libjpeg: ", message);
  return WithFault(cut_off ? Fault::kTruncatedImage : Fault::kDamagedImage,
                   damaged ? absl::DataLossError(text) : absl::InvalidArgumentError(text));
}

void StopAtManyScans(j_common_ptr cinfo) {
  if (!cinfo->is_decompressor) return;
  if (reinterpret_cast<j_decompress_ptr>(cinfo)->input_scan_number <= kMaxScans) return;
  JpegErrors* errors = Errors(cinfo);
  std::snprintf(errors->message, sizeof(errors->message), "more than %d scans", kMaxScans);
  errors->damaged = true;
  std::longjmp(errors->back, 1);
}

}  // namespace penstock::image
