// Error handling around libjpeg, for the .cc files of this folder that call it. Errors return to a setjmp, and some
// warnings count as damage.
//
// A function that calls setjmp(errors.back), and every function that it calls, must hold no object with a destructor,
// because libjpeg leaves it by longjmp.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ERRORS_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ERRORS_H_

#include <csetjmp>
#include <cstdio>
// Must follow cstdio.
#include <jpeglib.h>

#include "absl/status/status.h"

namespace penstock::image {

struct JpegErrors {
  jpeg_error_mgr base;  // first: libjpeg passes a pointer to it
  std::jmp_buf back;
  // Whether libjpeg is reading a scan. Before the scan, garbage between segments is harmless.
  bool in_scan = false;
  bool damaged = false;
  bool cut_off = false;  // `message` reports a file that ends too early
  // Whether to return at the first warning instead of decoding the rest of a damaged image.
  bool strict = true;
  char message[JMSG_LENGTH_MAX] = {};

  // Fills `base` and returns the value for `cinfo->err`.
  jpeg_error_mgr* Install();
  // Resets the state. Call before each image.
  void Reset(bool is_strict);
  // Returns libjpeg's message, as DataLoss after damage and otherwise as InvalidArgument. Must be called outside the
  // setjmp fence.
  absl::Status ToStatus() const;
};

// A progress_monitor that stops a decode with more scans than valid files have. libjpeg-turbo recommends it in "Two
// Issues with the JPEG Standard".
void StopAtManyScans(j_common_ptr cinfo);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ERRORS_H_
