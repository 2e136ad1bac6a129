// Puts McuDecoder in the place of libjpeg's own Huffman decoder, for files that it decodes: eight bits, Huffman codes,
// one sequential scan of all components; and, where the CPU can, InverseDct and YccToRgb in the places of its
// dequantization and inverse DCT and of its color conversion. libjpeg goes on to do all else. For the .cc files of this
// folder that call libjpeg.
//
// libjpeg's decoder objects are replaceable by design; their interface is in jpegint.h, which is installed with the
// library. Used of it: jpeg_entropy_decoder, jpeg_inverse_dct and jpeg_color_deconverter, whose first members are as in
// IJG's release 6b.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_SCAN_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_SCAN_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "pipeline/image/jpeg/jpeg_errors.h"
#include "pipeline/image/jpeg/restart_table.h"

namespace penstock {

class JpegScan {
 public:
  JpegScan();
  ~JpegScan();

  // Before each image. Takes the memory for tables, once.
  void Prepare();

  // Between jpeg_start_decompress and the first row, of a file that lies in memory as a whole, with JpegErrors as its
  // error manager. `table` may be null; it is used where it is what libjpeg has read. False: not such a file, nothing
  // was done. Views of `jpeg` and `table` are kept until the image is read. No allocation, no error.
  bool Install(jpeg_decompress_struct* cinfo, std::string_view jpeg, const TileTable* table);

  // The columns of MCUs that the crop needs, [first, last]; all of them unless said.
  void SetColumns(JDIMENSION first, JDIMENSION last);

  // Whether the last image was left, through JpegErrors::back, since its data is odd: libjpeg alone is to read it.
  bool gave_up() const;

  size_t held_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;  // null until Prepare
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_SCAN_H_
