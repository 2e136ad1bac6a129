// Dequantization and inverse DCT of a block, on CPUs with AVX-512 (F, BW, VL, DQ and VBMI: Ice Lake, Zen 4 and later).
// The samples equal those of libjpeg-turbo's vectorized accurate integer transform (JDCT_ISLOW), including its 16-bit
// overflows. Pure; does not use libjpeg.
//
// Source: C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical Fast 1-D DCT Algorithms with 11 Multiplications" (1989),
// in the form of IJG's jidctint.c. Within a pass, each vector of 32-bit values holds two results for all eight
// columns.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_INVERSE_DCT_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_INVERSE_DCT_H_

#include <cstddef>
#include <cstdint>

namespace penstock::image {

// Returns whether this CPU has the instructions and the system saves the registers. If not, InverseDct must not be
// called.
bool HasInverseDct();

// Transforms 64 coefficients with their quantization, both in natural order. Writes eight samples to each of eight
// rows, starting at `column`.
void InverseDct(const int16_t* coefficients, const uint16_t* quantization, uint8_t* const* rows, size_t column);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_INVERSE_DCT_H_
