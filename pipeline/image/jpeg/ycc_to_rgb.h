// Converts JPEG's YCbCr to RGB, on CPUs with AVX-512 (BW and VBMI: Ice Lake, Zen 4 and later), 64 pixels at a time. The
// bytes equal those of libjpeg's own conversion. Pure; does not use libjpeg.
//
// Source: JFIF 1.02, whose factors IJG's jdcolor.c rounds to 16 bits.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_YCC_TO_RGB_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_YCC_TO_RGB_H_

#include <cstddef>
#include <cstdint>

namespace penstock::image {

// Returns whether this CPU has the instructions and the system saves the registers. If not, YccToRgb must not be
// called.
bool HasYccToRgb();

// Converts `width` pixels of three rows to 3 * width bytes. Accesses nothing beyond them.
void YccToRgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t width, uint8_t* rgb);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_YCC_TO_RGB_H_
