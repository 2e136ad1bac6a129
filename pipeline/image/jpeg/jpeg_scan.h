// Replaces libjpeg's Huffman decoder by McuDecoder for the files that it supports: eight bits, Huffman codes, and one
// sequential scan of all components. If the CPU supports them, it also replaces the dequantization and inverse DCT by
// InverseDct and the color conversion by YccToRgb. libjpeg does everything else. For the .cc files of this folder that
// call libjpeg.
//
// libjpeg's decoder objects are replaceable by design. Their interface is in jpegint.h, which is installed with the
// library. This code uses jpeg_entropy_decoder, jpeg_inverse_dct and jpeg_color_deconverter, whose first members are
// unchanged since IJG's release 6b.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_SCAN_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_SCAN_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "pipeline/image/jpeg/jpeg_errors.h"
#include "pipeline/image/jpeg/restart_table.h"

namespace penstock::image {

class JpegScan {
 public:
  JpegScan();
  ~JpegScan();

  // Allocates the memory for tables on the first call. Call before each image.
  void Prepare();

  // Replaces the decoders for the current image. Call between jpeg_start_decompress and the first row. The whole file
  // must be in memory, with JpegErrors as the error manager. `table` may be null; it is used only if it matches the
  // header that libjpeg read. Returns false, without changes, if the file is unsupported. Keeps views of `jpeg` and
  // `table` until the image is read. Does not allocate or raise errors.
  bool Install(jpeg_decompress_struct* cinfo, std::string_view jpeg, const TileTable* table);

  // Limits decoding to the columns of MCUs [first, last] that the crop needs. The default is all columns.
  void SetColumns(JDIMENSION first, JDIMENSION last);

  // Returns whether the decode of the last image ended through JpegErrors::back because its data is irregular. libjpeg
  // must then decode the image without this class.
  bool gave_up() const;

  size_t held_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;  // null until Prepare() is called
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_SCAN_H_
