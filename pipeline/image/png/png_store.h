// From pixels as a PNG stores them to ours. Pure.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_PNG_STORE_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_PNG_STORE_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/png/png_chunks.h"

namespace penstock {

// Pixels [first, first + count) of the stored row `raw` to `out`, each `step` pixels behind the one before. Alpha is
// dropped, 16 bits become their high byte, fewer than 8 are spread over 0 to 255; channels 3: RGB, 1: gray. False: a
// color that the palette lacks.
bool StorePngPixels(const PngLayout& layout, const uint8_t* raw, int first, int count, int channels, size_t step,
                    uint8_t* out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_PNG_STORE_H_
