// The fence around libjpeg, for the .cc files of this folder that call it: where errors return to, and which warnings
// count as damage.
//
// A function that calls setjmp(errors.back), and all that it calls, must hold no object with a destructor: libjpeg
// leaves it by longjmp.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ERRORS_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ERRORS_H_

#include <csetjmp>
#include <cstdio>
// After cstdio.
#include <jpeglib.h>

#include "absl/status/status.h"

namespace penstock {

struct JpegErrors {
  jpeg_error_mgr base;  // first: libjpeg hands out a pointer to it
  std::jmp_buf back;
  // Set once the scan is read: until then garbage between segments is harmless.
  bool in_scan = false;
  bool damaged = false;
  bool cut_off = false;  // `message` is of a file that ends too early
  // Return at the first warning: the rest of a damaged image is not wanted.
  bool strict = true;
  char message[JMSG_LENGTH_MAX] = {};

  // Fills `base`; what `cinfo->err` is to be.
  jpeg_error_mgr* Install();
  // Before each image.
  void Reset(bool is_strict);
  // libjpeg's words: DataLoss after damage, else InvalidArgument. Not inside the fence.
  absl::Status ToStatus() const;
};

// A progress_monitor that ends a decode of more scans than an honest file has (libjpeg-turbo's own advice, its "Two
// Issues with the JPEG Standard").
void StopAtManyScans(j_common_ptr cinfo);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ERRORS_H_
