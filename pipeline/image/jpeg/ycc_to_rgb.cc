#include "pipeline/image/jpeg/ycc_to_rgb.h"

#include <array>

#include "base/check.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define PENSTOCK_COLORS __attribute__((target("avx512f,avx512bw,avx512vbmi")))

namespace penstock::image {
namespace {

constexpr size_t kPixels = 64;  // per step

struct alignas(64) Bytes {
  std::array<uint8_t, kPixels> of;
};

// Source indices for the bytes of one third of the output of 64 pixels: red and green (offset by kPixels) in one table,
// blue in another.
constexpr size_t PixelOf(size_t third, size_t byte) { return (kPixels * third + byte) / 3; }
constexpr Bytes RedGreen(size_t third) {
  Bytes bytes{};
  for (size_t i = 0; i < kPixels; ++i) {
    bytes.of[i] = static_cast<uint8_t>(PixelOf(third, i) + ((kPixels * third + i) % 3 == 1 ? kPixels : 0));
  }
  return bytes;
}
constexpr Bytes Blue(size_t third) {
  Bytes bytes{};
  for (size_t i = 0; i < kPixels; ++i) bytes.of[i] = static_cast<uint8_t>(PixelOf(third, i));
  return bytes;
}
constexpr uint64_t BlueMask(size_t third) {
  uint64_t mask = 0;
  for (size_t i = 0; i < kPixels; ++i) mask |= uint64_t{(kPixels * third + i) % 3 == 2} << i;
  return mask;
}
constexpr std::array<Bytes, 3> kRedGreen = {RedGreen(0), RedGreen(1), RedGreen(2)}, kBlue = {Blue(0), Blue(1), Blue(2)};
constexpr std::array<uint64_t, 3> kBlueMask = {BlueMask(0), BlueMask(1), BlueMask(2)};

struct Colors {
  __m512i r, g, b;
};

// Converts words. The inputs are the luma and twice the color differences, so that a rounding multiply gives 1.402 and
// 1.772 times the differences. For each of the 256 differences, these factors give the results of jdcolor.c's 16-bit
// factors.
PENSTOCK_COLORS inline Colors Convert(__m512i y, __m512i cb2, __m512i cr2) {
  constexpr int kRed = 22972, kBlueFactor = 29033;                 // 1.402 and 1.772 times 2^14
  constexpr int kGreenOfCb = -22554 / 2, kGreenOfCr = -46802 / 2;  // -0.34414 and -0.71414 times 2^15
  const __m512i factors = _mm512_set1_epi32(kGreenOfCr * (1 << 16) | (kGreenOfCb & 0xFFFF));
  const __m512i half = _mm512_set1_epi32(1 << 15);
  const __m512i low = _mm512_add_epi32(_mm512_madd_epi16(_mm512_unpacklo_epi16(cb2, cr2), factors), half);
  const __m512i high = _mm512_add_epi32(_mm512_madd_epi16(_mm512_unpackhi_epi16(cb2, cr2), factors), half);
  const __m512i green = _mm512_packs_epi32(_mm512_srai_epi32(low, 16), _mm512_srai_epi32(high, 16));
  return {_mm512_add_epi16(y, _mm512_mulhrs_epi16(cr2, _mm512_set1_epi16(kRed))), _mm512_add_epi16(y, green),
          _mm512_add_epi16(y, _mm512_mulhrs_epi16(cb2, _mm512_set1_epi16(kBlueFactor)))};
}

PENSTOCK_COLORS inline Colors Convert64(__m512i y, __m512i cb, __m512i cr) {
  const __m512i zero = _mm512_setzero_si512(), middle = _mm512_set1_epi8(-128);
  const __m512i blue = _mm512_xor_si512(cb, middle), red = _mm512_xor_si512(cr, middle);
  const Colors low = Convert(_mm512_unpacklo_epi8(y, zero), _mm512_srai_epi16(_mm512_unpacklo_epi8(zero, blue), 7),
                             _mm512_srai_epi16(_mm512_unpacklo_epi8(zero, red), 7));
  const Colors high = Convert(_mm512_unpackhi_epi8(y, zero), _mm512_srai_epi16(_mm512_unpackhi_epi8(zero, blue), 7),
                              _mm512_srai_epi16(_mm512_unpackhi_epi8(zero, red), 7));
  return {_mm512_packus_epi16(low.r, high.r), _mm512_packus_epi16(low.g, high.g), _mm512_packus_epi16(low.b, high.b)};
}

PENSTOCK_COLORS inline __m512i Third(const Colors& colors, size_t third) {
  const __m512i rg = _mm512_permutex2var_epi8(colors.r, _mm512_load_si512(kRedGreen[third].of.data()), colors.g);
  return _mm512_mask_permutexvar_epi8(rg, kBlueMask[third], _mm512_load_si512(kBlue[third].of.data()), colors.b);
}

// Returns a mask of the lowest `count` bits.
inline uint64_t Lowest(size_t count) { return count >= kPixels ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

}  // namespace

bool HasYccToRgb() {
  static const bool has = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi");
  return has;
}

PENSTOCK_COLORS void YccToRgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t width, uint8_t* rgb) {
  size_t x = 0;
  for (; x + kPixels <= width; x += kPixels, rgb += 3 * kPixels) {
    const Colors colors = Convert64(_mm512_loadu_si512(y + x), _mm512_loadu_si512(cb + x), _mm512_loadu_si512(cr + x));
    _mm512_storeu_si512(rgb, Third(colors, 0));
    _mm512_storeu_si512(rgb + kPixels, Third(colors, 1));
    _mm512_storeu_si512(rgb + 2 * kPixels, Third(colors, 2));
  }
  if (x == width) return;
  const size_t left = width - x, bytes = 3 * left;
  const __mmask64 loaded = Lowest(left);
  const Colors colors = Convert64(_mm512_maskz_loadu_epi8(loaded, y + x), _mm512_maskz_loadu_epi8(loaded, cb + x),
                                  _mm512_maskz_loadu_epi8(loaded, cr + x));
  for (size_t third = 0; third < 3 && bytes > third * kPixels; ++third) {
    _mm512_mask_storeu_epi8(rgb + third * kPixels, Lowest(bytes - third * kPixels), Third(colors, third));
  }
}

}  // namespace penstock::image

#else

namespace penstock::image {

bool HasYccToRgb() { return false; }

void YccToRgb(const uint8_t*, const uint8_t*, const uint8_t*, size_t, uint8_t*) { PS_CHECK(false); }

}  // namespace penstock::image

#endif  // defined(__x86_64__)
