// degrade.h: the compressing half of JPEG distortion, behind libjpeg's fence.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
// After cstdio.
#include <jpeglib.h>

#include "absl/strings/str_cat.h"
#include "pipeline/image/degrade.h"
#include "pipeline/image/jpeg_errors.h"

namespace penstock {
namespace {

// libjpeg returns here by longjmp: no object with a destructor may live in this function.
bool Compress(const ImageView& in, int quality, jpeg_compress_struct* cinfo, JpegErrors* errors, uint8_t** data,
              unsigned long* size) {
  if (setjmp(errors->back) != 0) return false;
  jpeg_create_compress(cinfo);
  jpeg_mem_dest(cinfo, data, size);
  cinfo->image_width = static_cast<JDIMENSION>(in.width);
  cinfo->image_height = static_cast<JDIMENSION>(in.height);
  cinfo->input_components = in.channels;
  cinfo->in_color_space = in.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(cinfo);  // 4:2:0
  jpeg_set_quality(cinfo, quality, TRUE);
  cinfo->dct_method = JDCT_ISLOW;
  jpeg_start_compress(cinfo, TRUE);
  while (cinfo->next_scanline < cinfo->image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(in.row(static_cast<int>(cinfo->next_scanline)));  // read only
    jpeg_write_scanlines(cinfo, &row, 1);
  }
  jpeg_finish_compress(cinfo);
  return true;
}

size_t PadTo16(int side) { return (static_cast<size_t>(side) + 15) & ~size_t{15}; }

}  // namespace

// libjpeg-turbo's tjBufSize, for 4:2:0.
size_t JpegBufferBytes(int width, int height) { return PadTo16(width) * PadTo16(height) * 3 + 2048; }

// Two rows of MCUs of each component in the colour converter and the downsampler, and tables.
size_t JpegCompressorBytes(int width) { return (size_t{64} << 10) + PadTo16(width) * 240; }

absl::StatusOr<std::string_view> CompressJpeg(const ImageView& in, int quality, uint8_t* buffer, size_t size) {
  jpeg_compress_struct cinfo{};
  JpegErrors errors;
  errors.Reset(/*is_strict=*/true);
  cinfo.err = errors.Install();
  uint8_t* data = buffer;
  unsigned long length = static_cast<unsigned long>(size);
  const bool done = Compress(in, quality, &cinfo, &errors, &data, &length);
  jpeg_destroy_compress(&cinfo);
  if (data != buffer) std::free(data);  // the bound did not hold
  if (!done) return errors.ToStatus();
  if (data != buffer) {
    return absl::InternalError(absl::StrCat("a JPEG of ", in.width, " x ", in.height, " pixels takes more than ", size,
                                            " bytes, which its size does not justify"));
  }
  return std::string_view(reinterpret_cast<const char*>(buffer), length);
}

}  // namespace penstock
