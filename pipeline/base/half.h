// float16 (IEEE 754 binary16) and bfloat16 to and from float, rounded to nearest, ties to even. Our own, because
// hardware and libraries differ in rounding between targets; a row must be the same bytes everywhere.
#ifndef PENSTOCK_PIPELINE_BASE_HALF_H_
#define PENSTOCK_PIPELINE_BASE_HALF_H_

#include <bit>
#include <cstdint>

namespace penstock {

// Values past 65504 (after rounding) become infinity; every NaN becomes 0x7E00 with the sign kept.
inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return sign | 0x7E00;
  if (magnitude >= 0x47800000) return sign | 0x7C00;  // 65536 and more
  uint32_t half, rest, tie;
  if (magnitude >= 0x38800000) {  // 2^-14: normal
    magnitude -= 0x38000000;      // the exponent's bias from 127 to 15
    half = magnitude >> 13;
    rest = magnitude & 0x1FFF;
    tie = 0x1000;
  } else {  // subnormal: a multiple of 2^-24
    const uint32_t shift = 126 - (magnitude >> 23);
    if (shift > 31) return sign;
    const uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    half = shift > 24 ? 0 : mantissa >> shift;
    rest = shift > 24 ? mantissa : mantissa & ((1u << shift) - 1);
    tie = 1u << (shift - 1);
  }
  half += rest > tie || (rest == tie && (half & 1) != 0);
  return static_cast<uint16_t>(sign | half);
}

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 0x1F, mantissa = half & 0x3FF;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13);
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

// Every NaN becomes 0x7FC0 with the sign kept.
inline uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>((bits >> 16 & 0x8000) | 0x7FC0);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline float Bfloat16ToFloat(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_BASE_HALF_H_
