#include "pipeline/image/jpeg/inverse_dct.h"

#include <array>

#include "base/check.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define PENSTOCK_DCT __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi")))

namespace penstock::image {
namespace {

// Factors multiplied by 2^13 and rounded.
constexpr int kFactorBits = 13;
constexpr int k0_298 = 2446, k0_390 = 3196, k0_541 = 4433, k0_765 = 6270, k0_899 = 7373, k1_175 = 9633, k1_501 = 12299,
              k1_847 = 15137, k1_961 = 16069, k2_053 = 16819, k2_562 = 20995, k3_072 = 25172;
// Fraction bits that the first pass keeps for the second.
constexpr int kKeptBits = 2;

struct alignas(64) Words {
  std::array<int16_t, 32> of;
};
struct alignas(64) Bytes {
  std::array<uint8_t, 64> of;
};

// Vectors of words hold rows 0 to 7 (columns in the second pass) of eight words each. Indices into the upper of two
// vectors begin at 32.

// Indices of word pairs: rows `low` and `low_second` for dwords 0 to 7, the other rows for 8 to 15. Word w of row r is
// 8r + w.
constexpr Words Rows(int low, int low_second, int high, int high_second) {
  Words words{};
  for (int w = 0; w < 8; ++w) {
    const size_t at = static_cast<size_t>(2 * w);
    words.of[at] = static_cast<int16_t>(8 * low + w);
    words.of[at + 1] = static_cast<int16_t>(8 * low_second + w);
    words.of[at + 16] = static_cast<int16_t>(8 * high + w);
    words.of[at + 17] = static_cast<int16_t>(8 * high_second + w);
  }
  return words;
}
constexpr Words Factors(int low, int low_second, int high, int high_second) {
  Words words{};
  for (size_t at = 0; at < 16; at += 2) {
    words.of[at] = static_cast<int16_t>(low);
    words.of[at + 1] = static_cast<int16_t>(low_second);
    words.of[at + 16] = static_cast<int16_t>(high);
    words.of[at + 17] = static_cast<int16_t>(high_second);
  }
  return words;
}

// Returns where a pass stores word w of result k, in two vectors packed from four: 0 and 1 with 7 and 6, then 3 and 2
// with 4 and 5. The first of each two is in the lower half.
constexpr int PlaceOf(int k, int w) {
  const bool upper_half = k == 1 || k == 6 || k == 2 || k == 5, second = k > 3, upper_vector = k > 1 && k < 6;
  return (upper_vector ? 32 : 0) + (upper_half ? 16 : 0) + w / 4 * 8 + (second ? 4 : 0) + w % 4;
}
// Indices of the results of a pass as four rows of the next pass. Row j has word first + j of each result.
constexpr Words Transposed(int first) {
  Words words{};
  for (int j = 0; j < 4; ++j) {
    for (int k = 0; k < 8; ++k) words.of[static_cast<size_t>(8 * j + k)] = static_cast<int16_t>(PlaceOf(k, first + j));
  }
  return words;
}
// Indices of four rows from a row 0 whose results are all equal. Row j has word first + j of it.
constexpr Words Repeated(int first) {
  Words words{};
  for (int j = 0; j < 4; ++j) {
    for (int k = 0; k < 8; ++k) words.of[static_cast<size_t>(8 * j + k)] = static_cast<int16_t>(first + j);
  }
  return words;
}
// Indices of the bytes of the last pass's results, row by row, after packing its two vectors.
constexpr Bytes RowBytes() {
  Bytes bytes{};
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
      const int place = PlaceOf(column, row), word = place % 32;
      bytes.of[static_cast<size_t>(8 * row + column)] =
          static_cast<uint8_t>(word / 8 * 16 + (place / 32) * 8 + word % 8);
    }
  }
  return bytes;
}

// The sums and differences of rows r and r + 4 are in a pair of vectors, as rows r and r + 4.
constexpr Words kEven04 = Rows(0, 0, 4, 4), kEven26 = Rows(2, 6, 2, 6), kOdd = Rows(7, 1, 5, 3),
                kOddSums = Rows(3, 1, 3, 1);
constexpr Words kFactorsEven = Factors(k0_541 + k0_765, k0_541, k0_541, k0_541 - k1_847);
constexpr Words kFactors32 = Factors(-k0_899, k1_501 - k0_899, -k2_562, k3_072 - k2_562);
constexpr Words kFactors01 = Factors(k0_298 - k0_899, -k0_899, k2_053 - k2_562, -k2_562);
constexpr Words kFactorsZ43 = Factors(k1_175, k1_175 - k0_390, k1_175 - k1_961, k1_175);
constexpr Words kFactorsZ34 = Factors(k1_175 - k1_961, k1_175, k1_175, k1_175 - k0_390);
constexpr Words kLeft = Transposed(0), kRight = Transposed(4), kLeftOfDc = Repeated(0), kRightOfDc = Repeated(4);
constexpr Bytes kRowBytes = RowBytes();

struct Two {
  __m512i a, b;
};

PENSTOCK_DCT inline __m512i Load(const Words& words) { return _mm512_load_si512(words.of.data()); }

// Runs eight transforms at once, on rows 0 to 3 and 4 to 7. Results are placed by PlaceOf and have `kShift` fewer bits
// than the products.
template <int kShift>
PENSTOCK_DCT inline Two Pass(const Two& rows) {
  const __m512i sums = _mm512_add_epi16(rows.a, rows.b), differences = _mm512_sub_epi16(rows.a, rows.b);
  // Words go to the upper halves of dwords, which multiplies them by 2^16 and extends the sign.
  const __m512i wide = _mm512_maskz_permutex2var_epi16(0xAAAAAAAA, sums, Load(kEven04), differences);
  const __m512i t01 = _mm512_add_epi32(_mm512_srai_epi32(wide, 16 - kFactorBits), _mm512_set1_epi32(1 << (kShift - 1)));
  const __m512i t32 = _mm512_madd_epi16(_mm512_permutex2var_epi16(rows.a, Load(kEven26), rows.b), Load(kFactorsEven));
  const __m512i t10_11 = _mm512_add_epi32(t01, t32), t13_12 = _mm512_sub_epi32(t01, t32);

  const __m512i odd = _mm512_permutex2var_epi16(rows.a, Load(kOdd), rows.b);
  const __m512i z = _mm512_permutexvar_epi16(Load(kOddSums), sums);
  const __m512i o32 =
      _mm512_add_epi32(_mm512_madd_epi16(odd, Load(kFactors32)), _mm512_madd_epi16(z, Load(kFactorsZ43)));
  const __m512i o01 =
      _mm512_add_epi32(_mm512_madd_epi16(odd, Load(kFactors01)), _mm512_madd_epi16(z, Load(kFactorsZ34)));

  const __m512i r01 = _mm512_srai_epi32(_mm512_add_epi32(t10_11, o32), kShift);
  const __m512i r76 = _mm512_srai_epi32(_mm512_sub_epi32(t10_11, o32), kShift);
  const __m512i r32 = _mm512_srai_epi32(_mm512_add_epi32(t13_12, o01), kShift);
  const __m512i r45 = _mm512_srai_epi32(_mm512_sub_epi32(t13_12, o01), kShift);
  return {_mm512_packs_epi32(r01, r76), _mm512_packs_epi32(r32, r45)};
}

PENSTOCK_DCT inline void StoreRows(__m128i two_rows, uint8_t* first, uint8_t* second) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(first), two_rows);
  _mm_storeh_pi(reinterpret_cast<__m64*>(second), _mm_castsi128_ps(two_rows));
}

}  // namespace

bool HasInverseDct() {
  static const bool has = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi");
  return has;
}

PENSTOCK_DCT void InverseDct(const int16_t* coefficients, const uint16_t* quantization, uint8_t* const* rows,
                             size_t column) {
  const Two raw{_mm512_loadu_si512(coefficients), _mm512_loadu_si512(coefficients + 32)};
  const Two in{_mm512_mullo_epi16(raw.a, _mm512_loadu_si512(quantization)),
               _mm512_mullo_epi16(raw.b, _mm512_loadu_si512(quantization + 32))};
  Two turned;
  // If only row 0 is nonzero, libjpeg-turbo replaces the first pass by a shift. The shift wraps where the pass would
  // saturate, which matters only for the values of unusual files.
  constexpr int kMost = 1 << (15 - kKeptBits);
  const __mmask32 large = _mm512_mask_cmp_epu16_mask(0xFF, _mm512_add_epi16(in.a, _mm512_set1_epi16(kMost)),
                                                     _mm512_set1_epi16(2 * kMost - 1), _MM_CMPINT_NLE);
  if (__builtin_expect(large != 0, 0) &&
      (_mm512_test_epi16_mask(raw.a, raw.a) >> 8 | _mm512_test_epi16_mask(raw.b, raw.b)) == 0) {
    const __m512i row = _mm512_slli_epi16(in.a, kKeptBits);
    turned = {_mm512_permutexvar_epi16(Load(kLeftOfDc), row), _mm512_permutexvar_epi16(Load(kRightOfDc), row)};
  } else {
    const Two first = Pass<kFactorBits - kKeptBits>(in);
    turned = {_mm512_permutex2var_epi16(first.a, Load(kLeft), first.b),
              _mm512_permutex2var_epi16(first.a, Load(kRight), first.b)};
  }
  const Two second = Pass<kFactorBits + kKeptBits + 3>(turned);
  const __m512i packed = _mm512_packs_epi16(second.a, second.b);
  const __m512i bytes =
      _mm512_xor_si512(_mm512_permutexvar_epi8(_mm512_load_si512(kRowBytes.of.data()), packed), _mm512_set1_epi8(-128));
  StoreRows(_mm512_castsi512_si128(bytes), rows[0] + column, rows[1] + column);
  StoreRows(_mm512_extracti32x4_epi32(bytes, 1), rows[2] + column, rows[3] + column);
  StoreRows(_mm512_extracti32x4_epi32(bytes, 2), rows[4] + column, rows[5] + column);
  StoreRows(_mm512_extracti32x4_epi32(bytes, 3), rows[6] + column, rows[7] + column);
}

}  // namespace penstock::image

#else

namespace penstock::image {

bool HasInverseDct() { return false; }

void InverseDct(const int16_t*, const uint16_t*, uint8_t* const*, size_t) { PS_CHECK(false); }

}  // namespace penstock::image

#endif  // defined(__x86_64__)
