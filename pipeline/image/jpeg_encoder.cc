#include "pipeline/image/jpeg_encoder.h"

#include <jpeglib.h>

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

struct EncodeErrors {
  jpeg_error_mgr base;  // first, so that libjpeg's pointer to it is one to this
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void OnEncodeError(j_common_ptr cinfo) {
  auto* errors = reinterpret_cast<EncodeErrors*>(cinfo->err);
  errors->base.format_message(cinfo, errors->message);
  std::longjmp(errors->back, 1);
}

void OnEncodeOutput(j_common_ptr) {}

// "Exif", then a TIFF block with the one entry 0x0112 (EXIF 2.32, 4.6.2; TIFF 6.0, section 2), little-endian.
void WriteOrientation(jpeg_compress_struct* cinfo, int orientation) {
  unsigned char exif[] = {'E',  'x',  'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0,
                          0x12, 0x01, 3,   0,   1, 0, 0,   0,   0,  0, 0, 0, 0, 0, 0, 0};
  exif[24] = static_cast<unsigned char>(orientation);
  jpeg_write_marker(cinfo, JPEG_APP0 + 1, exif, sizeof(exif));
}

// libjpeg returns here by longjmp: no object with a destructor may live in this function.
bool Compress(const ImageView& image, const JpegEncodeOptions& options, jpeg_compress_struct* cinfo,
              EncodeErrors* errors, unsigned char** out, unsigned long* size) {
  if (setjmp(errors->back) != 0) return false;
  jpeg_create_compress(cinfo);
  jpeg_mem_dest(cinfo, out, size);
  cinfo->image_width = static_cast<JDIMENSION>(image.width);
  cinfo->image_height = static_cast<JDIMENSION>(image.height);
  cinfo->input_components = image.channels;
  cinfo->in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(cinfo);
  jpeg_set_quality(cinfo, options.quality, TRUE);
  cinfo->dct_method = JDCT_ISLOW;
  cinfo->optimize_coding = TRUE;
  jpeg_start_compress(cinfo, TRUE);
  if (options.orientation > 1 && options.orientation <= 8) WriteOrientation(cinfo, options.orientation);
  while (cinfo->next_scanline < cinfo->image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(image.row(static_cast<int>(cinfo->next_scanline)));  // read only
    jpeg_write_scanlines(cinfo, &row, 1);
  }
  jpeg_finish_compress(cinfo);
  return true;
}

}  // namespace

absl::StatusOr<std::string> EncodeJpeg(const ImageView& image, const JpegEncodeOptions& options) {
  if (options.quality < 1 || options.quality > 100) {
    return absl::InvalidArgumentError(absl::StrCat("a JPEG quality of ", options.quality, "; 1 to 100 are possible"));
  }
  if (image.width < 1 || image.height < 1 || image.width > JPEG_MAX_DIMENSION || image.height > JPEG_MAX_DIMENSION ||
      (image.channels != 1 && image.channels != 3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no JPEG holds ", image.width, " x ", image.height, " pixels of ", image.channels, " channels"));
  }
  jpeg_compress_struct cinfo{};
  EncodeErrors errors{};
  cinfo.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = OnEncodeError;
  errors.base.output_message = OnEncodeOutput;
  unsigned char* out = nullptr;
  unsigned long size = 0;
  const bool done = Compress(image, options, &cinfo, &errors, &out, &size);
  jpeg_destroy_compress(&cinfo);
  std::string jpeg(reinterpret_cast<const char*>(out), done ? size : 0);
  std::free(out);
  if (!done) return absl::InternalError(absl::StrCat("libjpeg: ", errors.message));
  return jpeg;
}

}  // namespace penstock
