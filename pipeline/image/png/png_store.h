// Conversion of stored PNG pixels to ours. Pure.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_PNG_STORE_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_PNG_STORE_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/png/png_chunks.h"

namespace penstock::image {

// Writes pixels [first, first + count) of the stored row `raw` to `out`, `step` pixels apart. Alpha is dropped, 16-bit
// values become their high byte, and values below 8 bits are scaled to 0 to 255. A color beyond the palette is black,
// as in Pillow. channels 3: RGB, 1: gray.
//
// With `classes`, stores the values that Pillow gives before convert(): palette indexes, and 0 or 1 in 1-bit images.
// With 2 channels, which require 16-bit values, stores all 16 bits of a value, the low byte first.
void StorePngPixels(const PngLayout& layout, const uint8_t* raw, int first, int count, int channels, bool classes,
                    size_t step, uint8_t* out);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_PNG_STORE_H_
