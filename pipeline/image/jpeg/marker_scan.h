// Finds the byte 0xFF in a JPEG's entropy-coded data, sixteen bytes at a time. About one byte of 256 is 0xFF, so each
// call of memchr would scan few bytes, and the calls would cost more than the scan. Pure.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_MARKER_SCAN_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_MARKER_SCAN_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace penstock::image {

constexpr ptrdiff_t kScanStep = 16;

// Copies kScanStep bytes. Bit i of the result is set if byte i is 0xFF.
inline uint32_t CopyStep(const uint8_t* from, uint8_t* to) {
#if defined(__SSE2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(-1))));
#else
  uint32_t found = 0;
  for (ptrdiff_t i = 0; i < kScanStep; ++i) {
    to[i] = from[i];
    found |= static_cast<uint32_t>(from[i] == 0xFF) << i;
  }
  return found;
#endif
}

// Returns the first 0xFF in [from, end) whose next byte is not zero, or `end` if there is none. The byte at `end` must
// be readable: it is the next byte of the last one.
inline const uint8_t* FindMarker(const uint8_t* from, const uint8_t* end) {
#if defined(__SSE2__)
  const __m128i ones = _mm_set1_epi8(-1), zero = _mm_setzero_si128();
  for (; end - from >= kScanStep; from += kScanStep) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 1));
    const int found = _mm_movemask_epi8(_mm_andnot_si128(_mm_cmpeq_epi8(next, zero), _mm_cmpeq_epi8(bytes, ones)));
    if (found != 0) return from + std::countr_zero(static_cast<uint32_t>(found));
  }
#endif
  while (from < end && (from[0] != 0xFF || from[1] == 0)) ++from;
  return from;
}

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_MARKER_SCAN_H_
