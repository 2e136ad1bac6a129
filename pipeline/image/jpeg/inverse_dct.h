// Dequantization and inverse DCT of a block, on CPUs with AVX-512 (BW and VBMI: Ice Lake, Zen 4 and later). The samples
// are those of libjpeg-turbo's accurate integer transform in vectors (JDCT_ISLOW), its overflows of 16 bits among them.
// Pure, no libjpeg.
//
// Source: C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical Fast 1-D DCT Algorithms with 11 Multiplications" (1989),
// as IJG's jidctint.c has it; two of a pass' results lie in each vector.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_INVERSE_DCT_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_INVERSE_DCT_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

// Whether this CPU has what it needs, and the system saves the registers. Where not, InverseDct must not be called.
bool HasInverseDct();

// Of 64 coefficients and their quantization, both in natural order, into eight samples of each of eight rows, from
// `column` on.
void InverseDct(const int16_t* coefficients, const uint16_t* quantization, uint8_t* const* rows, size_t column);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_INVERSE_DCT_H_
