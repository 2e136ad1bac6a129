#include "pipeline/image/resize/quad_passes.h"

#include <algorithm>

#include "base/check.h"
#include "hwy/targets.h"
#include "pipeline/image/resize/quad_target.h"

#if HWY_ARCH_X86_64

namespace penstock::image {
namespace {

constexpr int kHalf = 1 << (kWeightBits - 1);
// One half, as the initial value of the third digit's sum.
constexpr int kHalfInDigit2 = kHalf >> 16;

// Four named vectors, because compilers keep an array, and a loop over it, in memory.
struct Four {
  __m512i a, b, c, d;
};

struct Digits {
  __m512i two, one, zero;
};

PENSTOCK_QUAD inline Digits LoadDigits(const QuadGather& gather) {
  return {_mm512_load_si512(gather.digit[2]), _mm512_load_si512(gather.digit[1]), _mm512_load_si512(gather.digit[0])};
}

PENSTOCK_QUAD inline Digits SetDigits(const QuadWeights& quad) {
  return {_mm512_set1_epi32(static_cast<int>(quad.digit[2])), _mm512_set1_epi32(static_cast<int>(quad.digit[1])),
          _mm512_set1_epi32(static_cast<int>(quad.digit[0]))};
}

// Returns the pixels of one quad, which may be out of range. Each digit's sum continues from that of the higher digit.
PENSTOCK_QUAD inline __m512i FilterQuad(__m512i pixels, const Digits& digits) {
  __m512i sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(kHalfInDigit2), pixels, digits.two);
  sum = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), pixels, digits.one);
  sum = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), pixels, digits.zero);
  return _mm512_srai_epi32(sum, kWeightBits);
}

// For several quads: keeps a sum per digit and joins the three at the end.
PENSTOCK_QUAD inline Digits NoSum() {
  return {_mm512_set1_epi32(kHalfInDigit2), _mm512_setzero_si512(), _mm512_setzero_si512()};
}

PENSTOCK_QUAD inline void AddQuad(__m512i pixels, const Digits& digits, Digits* sum) {
  sum->two = _mm512_dpbusd_epi32(sum->two, pixels, digits.two);
  sum->one = _mm512_dpbusd_epi32(sum->one, pixels, digits.one);
  sum->zero = _mm512_dpbusd_epi32(sum->zero, pixels, digits.zero);
}

PENSTOCK_QUAD inline __m512i Join(const Digits& sum) {
  const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(sum.two, 8), sum.one);
  return _mm512_srai_epi32(_mm512_add_epi32(_mm512_slli_epi32(upper, 8), sum.zero), kWeightBits);
}

// Returns 64 clipped pixels, in the order that unpacking bytes and words produces.
PENSTOCK_QUAD inline __m512i Pack(const Four& pixels) {
  return _mm512_packus_epi16(_mm512_packs_epi32(pixels.a, pixels.b), _mm512_packs_epi32(pixels.c, pixels.d));
}

template <int kReach>
PENSTOCK_QUAD inline __m512i Gather(const uint8_t* from, __m512i index) {
  const __m512i front = _mm512_loadu_si512(from);
  if constexpr (kReach == 64) return _mm512_permutexvar_epi8(index, front);
  return _mm512_permutex2var_epi8(front, index, _mm512_loadu_si512(from + 64));
}

// Addresses of four rows.
template <typename Byte>
struct FourRows {
  Byte *a, *b, *c, *d;
};

// Returns kQuadValues values of four rows; row r is in block r of 16 bytes. `gather` and `offset` belong to the group's
// `words` words.
template <int kReach, bool kOneWord>
PENSTOCK_QUAD inline __m512i FilterGroup(const QuadGather* gather, const int32_t* offset, size_t words,
                                         const FourRows<const uint8_t>& in) {
  Four pixels;
  if constexpr (kOneWord) {
    const __m512i index = _mm512_load_si512(gather->index);
    const Digits digits = LoadDigits(*gather);
    pixels = {FilterQuad(Gather<kReach>(in.a + *offset, index), digits),
              FilterQuad(Gather<kReach>(in.b + *offset, index), digits),
              FilterQuad(Gather<kReach>(in.c + *offset, index), digits),
              FilterQuad(Gather<kReach>(in.d + *offset, index), digits)};
  } else {
    Digits a = NoSum(), b = a, c = a, d = a;
    for (size_t k = 0; k < words; ++k, ++gather, ++offset) {
      const __m512i index = _mm512_load_si512(gather->index);
      const Digits digits = LoadDigits(*gather);
      AddQuad(Gather<kReach>(in.a + *offset, index), digits, &a);
      AddQuad(Gather<kReach>(in.b + *offset, index), digits, &b);
      AddQuad(Gather<kReach>(in.c + *offset, index), digits, &c);
      AddQuad(Gather<kReach>(in.d + *offset, index), digits, &d);
    }
    pixels = {Join(a), Join(b), Join(c), Join(d)};
  }
  // Word r of block b holds values 4b to 4b + 3 of row r.
  const __m512i transposed = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(transposed, Pack(pixels));
}

template <int kReach, bool kOneWord>
PENSTOCK_QUAD void HorizontalRows(const QuadColumns& columns, const FourRows<const uint8_t>& rows, size_t ahead,
                                  const FourRows<uint8_t>& out) {
  // Locals, because stores of bytes may alias data behind a reference.
  const FourRows<const uint8_t> in = rows;
  const FourRows<uint8_t> to = out;
  const size_t values = static_cast<size_t>(columns.values);
  const size_t words = kOneWord ? 1 : static_cast<size_t>(columns.words);
  const QuadGather* gather = columns.gather.data();
  const int32_t* offset = columns.offset.data();
  size_t at = 0;
  for (; at + kQuadValues <= values; at += kQuadValues, gather += words, offset += words) {
    const size_t then = ahead + static_cast<size_t>(*offset);
    __builtin_prefetch(in.a + then);
    __builtin_prefetch(in.b + then);
    __builtin_prefetch(in.c + then);
    __builtin_prefetch(in.d + then);
    const __m512i four = FilterGroup<kReach, kOneWord>(gather, offset, words, in);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to.a + at), _mm512_castsi512_si128(four));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to.b + at), _mm512_extracti32x4_epi32(four, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to.c + at), _mm512_extracti32x4_epi32(four, 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to.d + at), _mm512_extracti32x4_epi32(four, 3));
  }
  if (at == values) return;
  const __mmask16 rest = static_cast<__mmask16>((1u << (values - at)) - 1);
  const __m512i four = FilterGroup<kReach, kOneWord>(gather, offset, words, in);
  _mm_mask_storeu_epi8(to.a + at, rest, _mm512_castsi512_si128(four));
  _mm_mask_storeu_epi8(to.b + at, rest, _mm512_extracti32x4_epi32(four, 1));
  _mm_mask_storeu_epi8(to.c + at, rest, _mm512_extracti32x4_epi32(four, 2));
  _mm_mask_storeu_epi8(to.d + at, rest, _mm512_extracti32x4_epi32(four, 3));
}

// Returns bytes [at, at + 64) of four rows with the bytes of a column adjacent, in the order that Pack restores.
PENSTOCK_QUAD inline Four Interleave(const FourRows<const uint8_t>& rows, size_t at) {
  const __m512i a = _mm512_loadu_si512(rows.a + at), b = _mm512_loadu_si512(rows.b + at);
  const __m512i c = _mm512_loadu_si512(rows.c + at), d = _mm512_loadu_si512(rows.d + at);
  const __m512i ab_front = _mm512_unpacklo_epi8(a, b), ab_back = _mm512_unpackhi_epi8(a, b);
  const __m512i cd_front = _mm512_unpacklo_epi8(c, d), cd_back = _mm512_unpackhi_epi8(c, d);
  return {_mm512_unpacklo_epi16(ab_front, cd_front), _mm512_unpackhi_epi16(ab_front, cd_front),
          _mm512_unpacklo_epi16(ab_back, cd_back), _mm512_unpackhi_epi16(ab_back, cd_back)};
}

// Returns taps t to t + 3 of `count` rows from `first` on. A tap past the last one has weight 0, so any row serves.
FourRows<const uint8_t> RowsFrom(const ImageView& source, int first, int t, int count) {
  return {source.row(first + t), source.row(first + std::min(t + 1, count - 1)),
          source.row(first + std::min(t + 2, count - 1)), source.row(first + std::min(t + 3, count - 1))};
}

// Filters one output row with at most four taps.
PENSTOCK_QUAD void VerticalQuad(const QuadWeights& quad, const FourRows<const uint8_t>& four, size_t bytes,
                                uint8_t* out) {
  const FourRows<const uint8_t> rows = four;
  const Digits digits = SetDigits(quad);
  for (size_t x = 0; x < bytes; x += 64) {
    const size_t at = std::min(x, bytes - 64);  // the last vector overlaps the previous one
    const Four columns = Interleave(rows, at);
    _mm512_storeu_si512(out + at, Pack({FilterQuad(columns.a, digits), FilterQuad(columns.b, digits),
                                        FilterQuad(columns.c, digits), FilterQuad(columns.d, digits)}));
  }
}

// Filters one output row with any number of taps.
PENSTOCK_QUAD void VerticalRow(const QuadWeights* quads, size_t outputs, const ImageView& source, int first, int count,
                               uint8_t* out) {
  const size_t bytes = source.row_bytes();
  for (size_t x = 0; x < bytes; x += 64) {
    const size_t at = std::min(x, bytes - 64);
    Digits a = NoSum(), b = a, c = a, d = a;
    for (int t = 0; t < count; t += 4) {
      const Digits digits = SetDigits(quads[static_cast<size_t>(t / 4) * outputs]);
      const Four columns = Interleave(RowsFrom(source, first, t, count), at);
      AddQuad(columns.a, digits, &a);
      AddQuad(columns.b, digits, &b);
      AddQuad(columns.c, digits, &c);
      AddQuad(columns.d, digits, &d);
    }
    _mm512_storeu_si512(out + at, Pack({Join(a), Join(b), Join(c), Join(d)}));
  }
}

}  // namespace

bool HasQuadPasses() {
  static const bool has = (hwy::SupportedTargets() & HWY_AVX3_DL) != 0;  // queries the CPU, which takes microseconds
  return has;
}

void HorizontalQuads(const QuadColumns& columns, const ImageView& source, size_t ahead, uint8_t* out, size_t stride) {
  PS_CHECK(source.row_bytes() >= static_cast<size_t>(columns.reach));
  const bool one = columns.words == 1;
  const auto filter = columns.reach == 64 ? (one ? HorizontalRows<64, true> : HorizontalRows<64, false>)
                                          : (one ? HorizontalRows<128, true> : HorizontalRows<128, false>);
  for (int y = 0; y < source.height; y += 4) {
    // Rows past the last one repeat it.
    const int last = source.height - 1, y1 = std::min(y + 1, last), y2 = std::min(y + 2, last);
    const int y3 = std::min(y + 3, last);
    const auto to = [out, stride](int row) { return out + static_cast<size_t>(row) * stride; };
    filter(columns, {source.row(y), source.row(y1), source.row(y2), source.row(y3)}, ahead,
           {to(y), to(y1), to(y2), to(y3)});
  }
}

void VerticalQuads(const FilterTable& table, const QuadTable& quads, OutputRange range, const ImageView& source,
                   int first, uint8_t* out, size_t stride) {
  const size_t bytes = source.row_bytes(), words = static_cast<size_t>(quads.words);
  PS_CHECK(bytes >= kQuadRowBytes);
  for (size_t i = static_cast<size_t>(range.begin); i < static_cast<size_t>(range.end); ++i, out += stride) {
    const int from = table.first[i] - first, count = table.count[i];
    const QuadWeights* const weights = quads.quads.data() + i;
    if (words > 1) {
      VerticalRow(weights, static_cast<size_t>(quads.outputs), source, from, count, out);
      continue;
    }
    VerticalQuad(*weights, RowsFrom(source, from, 0, count), bytes, out);
  }
}

}  // namespace penstock::image

#else

namespace penstock::image {

bool HasQuadPasses() { return false; }

void HorizontalQuads(const QuadColumns&, const ImageView&, size_t, uint8_t*, size_t) { PS_CHECK(false); }

void VerticalQuads(const FilterTable&, const QuadTable&, OutputRange, const ImageView&, int, uint8_t*, size_t) {
  PS_CHECK(false);
}

}  // namespace penstock::image

#endif  // HWY_ARCH_X86_64
