// Converts float16 (IEEE 754 binary16) and bfloat16 to and from float. Conversions from float round to nearest, ties to
// even. Hardware and libraries round differently on different targets, but a row must have the same bytes everywhere.
// So the project has its own conversions.
#ifndef PENSTOCK_BASE_HALF_H_
#define PENSTOCK_BASE_HALF_H_

#include <bit>
#include <cstdint>

namespace penstock {

// Both conversions of float16 compute all cases and select one without a branch, so that compilers vectorize loops over
// them. FloatToHalf requires the default rounding mode of IEEE 754. It converts subnormal floats to zero, and no result
// of HalfToFloat is a subnormal float. So a CPU mode that flushes subnormal floats to zero changes nothing.

// A value that rounds to more than 65504 becomes infinity. Every NaN becomes 0x7E00 with its sign.
inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  // At least 2^-14: the result is normal. Changes the exponent's bias from 127 to 15, and rounds the dropped bits.
  const uint32_t normal = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  // Less than 2^-14: the result is a multiple of 2^-24, which is the last bit of a float in [0.5, 1). So adding 0.5
  // rounds to it.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000;
  uint32_t half = magnitude < 0x38800000 ? subnormal : normal;
  half = magnitude >= 0x47800000 ? 0x7C00 : half;  // at least 65536, or infinity
  half = magnitude > 0x7F800000 ? 0x7E00 : half;
  return static_cast<uint16_t>(sign | half);
}

// Exact in the default rounding mode. A NaN keeps its sign and its payload.
inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, magnitude = static_cast<uint32_t>(half & 0x7FFF)
                                                                                << 13;
  constexpr uint32_t kBias = 112u << 23;  // 127 - 15
  // A subnormal m * 2^-24 is the fraction of the float 2^-14 + m * 2^-24. Builds that float, and subtracts 2^-14.
  const float low = std::bit_cast<float>(magnitude + kBias + (1u << 23)) - 0x1p-14f;
  uint32_t bits = magnitude < 0x00800000 ? std::bit_cast<uint32_t>(low) : magnitude + kBias;
  bits = magnitude >= 0x0F800000 ? magnitude + 2 * kBias : bits;  // infinity, NaN
  return std::bit_cast<float>(sign | bits);
}

// A value that rounds to more than the largest finite bfloat16 becomes infinity. Every NaN becomes 0x7FC0 with its
// sign.
inline uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>((bits >> 16 & 0x8000) | 0x7FC0);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Exact. A NaN keeps its sign and its payload.
inline float Bfloat16ToFloat(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

}  // namespace penstock

#endif  // PENSTOCK_BASE_HALF_H_
