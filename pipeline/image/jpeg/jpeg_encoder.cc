#include "pipeline/image/jpeg/jpeg_encoder.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "pipeline/image/jpeg/jpeg_errors.h"

namespace penstock::image {
namespace {

// "Exif", then a TIFF block with the one entry 0x0112 (EXIF 2.32, 4.6.2; TIFF 6.0, section 2), little-endian.
void WriteOrientation(jpeg_compress_struct* cinfo, int orientation) {
  unsigned char exif[] = {'E',  'x',  'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0,
                          0x12, 0x01, 3,   0,   1, 0, 0,   0,   0,  0, 0, 0, 0, 0, 0, 0};
  exif[24] = static_cast<unsigned char>(orientation);
  jpeg_write_marker(cinfo, JPEG_APP0 + 1, exif, sizeof(exif));
}

// libjpeg returns here by longjmp: no object with a destructor may live in this function.
bool Compress(const ImageView& image, const JpegEncodeOptions& options, jpeg_compress_struct* cinfo, JpegErrors* errors,
              unsigned char** data, unsigned long* size) {
  if (setjmp(errors->back) != 0) return false;
  jpeg_create_compress(cinfo);
  jpeg_mem_dest(cinfo, data, size);
  cinfo->image_width = static_cast<JDIMENSION>(image.width);
  cinfo->image_height = static_cast<JDIMENSION>(image.height);
  cinfo->input_components = image.channels;
  cinfo->in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(cinfo);  // 4:2:0
  jpeg_set_quality(cinfo, options.quality, TRUE);
  cinfo->dct_method = JDCT_ISLOW;
  cinfo->optimize_coding = options.optimize ? TRUE : FALSE;
  jpeg_start_compress(cinfo, TRUE);
  if (options.orientation > 1 && options.orientation <= 8) WriteOrientation(cinfo, options.orientation);
  while (cinfo->next_scanline < cinfo->image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(image.row(static_cast<int>(cinfo->next_scanline)));  // libjpeg only reads it
    jpeg_write_scanlines(cinfo, &row, 1);
  }
  jpeg_finish_compress(cinfo);
  return true;
}

// Encodes to `data` and `size`, as jpeg_mem_dest does. If `data` points to null, libjpeg allocates memory that the
// caller must free, even after an error.
absl::Status Encode(const ImageView& image, const JpegEncodeOptions& options, unsigned char** data,
                    unsigned long* size) {
  if (options.quality < 1 || options.quality > 100) {
    return absl::InvalidArgumentError(absl::StrCat("a JPEG quality of ", options.quality, "; 1 to 100 are possible"));
  }
  if (image.width < 1 || image.height < 1 || image.width > JPEG_MAX_DIMENSION || image.height > JPEG_MAX_DIMENSION ||
      (image.channels != 1 && image.channels != 3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no JPEG holds ", image.width, " x ", image.height, " pixels of ", image.channels, " channels"));
  }
  jpeg_compress_struct cinfo{};
  JpegErrors errors;
  errors.Reset(/*is_strict=*/true);
  cinfo.err = errors.Install();
  const bool done = Compress(image, options, &cinfo, &errors, data, size);
  jpeg_destroy_compress(&cinfo);
  return done ? absl::OkStatus() : errors.ToStatus();
}

size_t PadTo16(int side) { return (static_cast<size_t>(side) + 15) & ~size_t{15}; }

}  // namespace

absl::StatusOr<std::string> EncodeJpeg(const ImageView& image, const JpegEncodeOptions& options) {
  unsigned char* data = nullptr;
  unsigned long size = 0;
  const absl::Status status = Encode(image, options, &data, &size);
  std::string jpeg(reinterpret_cast<const char*>(data), status.ok() ? size : 0);
  std::free(data);
  if (!status.ok()) return status;
  return jpeg;
}

absl::StatusOr<std::string_view> EncodeJpegInto(const ImageView& image, const JpegEncodeOptions& options,
                                                uint8_t* buffer, size_t size) {
  unsigned char* data = buffer;
  unsigned long length = static_cast<unsigned long>(size);
  const absl::Status status = Encode(image, options, &data, &length);
  if (data != buffer) std::free(data);  // libjpeg exceeded the bound
  if (!status.ok()) return status;
  if (data != buffer) {
    return absl::InternalError(absl::StrCat("a JPEG of ", image.width, " x ", image.height, " pixels takes more than ",
                                            size, " bytes, which its size does not justify"));
  }
  return std::string_view(reinterpret_cast<const char*>(buffer), length);
}

// libjpeg-turbo's tjBufSize, for 4:2:0.
size_t JpegBufferBytes(int width, int height) { return PadTo16(width) * PadTo16(height) * 3 + 2048; }

// Two rows of MCUs per component in the color converter and the downsampler, and tables.
size_t JpegCompressorBytes(int width) { return (size_t{64} << 10) + PadTo16(width) * 240; }

}  // namespace penstock::image
