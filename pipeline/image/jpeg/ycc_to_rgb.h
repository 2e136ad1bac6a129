// JPEG's YCbCr to RGB, on CPUs with AVX-512 (BW and VBMI: Ice Lake, Zen 4 and later): the bytes of libjpeg's own
// conversion, of 64 pixels at a time. Pure, no libjpeg.
//
// Source: JFIF 1.02, whose factors IJG's jdcolor.c rounds to 16 bits.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_YCC_TO_RGB_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_YCC_TO_RGB_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

// Whether this CPU has what it needs, and the system saves the registers. Where not, YccToRgb must not be called.
bool HasYccToRgb();

// `width` pixels of three rows into 3 * width bytes; nothing behind them is read or written.
void YccToRgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t width, uint8_t* rgb);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_YCC_TO_RGB_H_
