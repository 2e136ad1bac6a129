#include "pipeline/image/resize/quad_table.h"

#include <algorithm>
#include <climits>

#include "base/check.h"
#include "pipeline/image/resize/quad_target.h"

namespace penstock::image {
namespace {

// Extra quads after the last one, which may be read.
constexpr size_t kSlack = kQuadValues;

}  // namespace

size_t QuadTableBytes(size_t outputs, size_t taps, size_t channels) {
  const size_t words = taps / 4 + 1;
  const size_t gathers = (outputs * channels / kQuadValues + 1) * words;
  return (outputs * words + kSlack) * sizeof(QuadWeights) + gathers * (sizeof(QuadGather) + sizeof(int32_t));
}

}  // namespace penstock::image

#if HWY_ARCH_X86_64
namespace penstock::image {
namespace {

// Adding it to a weight carries the borrow of each negative digit into the next digit.
constexpr int kCarry = 0x808080;

PENSTOCK_QUAD bool FillQuads(const FilterTable& table, size_t words, QuadWeights* quad) {
  const size_t outputs = table.first.size(), taps = static_cast<size_t>(table.taps);
  const __m128i carry = _mm_set1_epi32(kCarry);
  // Bytes 0 of the four weights, then bytes 1, then bytes 2.
  const __m128i digits = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m128i all = _mm_setzero_si128();
  for (size_t k = 0; k < words; ++k) {
    const size_t count = std::min<size_t>(4, taps - std::min(taps, 4 * k));
    const __mmask8 there = static_cast<__mmask8>((1u << count) - 1);
    const int32_t* weight = table.weight.data() + 4 * k;
    for (size_t i = 0; i < outputs; ++i, weight += taps, ++quad) {
      const __m128i carried = _mm_add_epi32(_mm_maskz_loadu_epi32(there, weight), carry);
      all = _mm_or_si128(all, carried);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(quad->digit),
                       _mm_shuffle_epi8(_mm_xor_si128(carried, carry), digits));
    }
  }
  alignas(16) uint32_t lanes[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), all);
  return (lanes[0] | lanes[1] | lanes[2] | lanes[3]) >> 24 == 0;
}

// The output, counted from the group's first, and the channel of each value of a group. The group's first value is
// channel `phase` of its output.
struct Lanes {
  __m512i output, channel;
};

PENSTOCK_QUAD inline Lanes LanesOf(int channels, int phase) {
  const __m512i value = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  if (channels == 1) return {value, _mm512_setzero_si512()};
  const __m512i at = _mm512_add_epi32(value, _mm512_set1_epi32(phase));
  // Equals at / 3 for small numbers.
  const __m512i output = _mm512_srli_epi32(_mm512_mullo_epi32(at, _mm512_set1_epi32(43)), 7);
  return {output, _mm512_sub_epi32(at, _mm512_mullo_epi32(output, _mm512_set1_epi32(3)))};
}

// Returns digit `digit` of each value. A group has 16 outputs for gray images and at most 6 for others.
PENSTOCK_QUAD inline __m512i DigitsOf(const QuadWeights* quad, int channels, __m512i output, int digit) {
  const __m512i at = _mm512_add_epi32(_mm512_slli_epi32(output, 2), _mm512_set1_epi32(digit));
  if (channels == 1) return _mm512_i32gather_epi32(at, quad, 4);
  return _mm512_permutex2var_epi32(_mm512_loadu_si512(quad), at, _mm512_loadu_si512(quad + 4));
}

// Fills the gathers of one word of taps.
PENSTOCK_QUAD void FillGathers(const FilterTable& table, const QuadTable& quads, int channels, int word,
                               QuadColumns* columns) {
  const size_t outputs = static_cast<size_t>(quads.outputs), words = static_cast<size_t>(quads.words);
  Lanes phases[3];
  for (int phase = 0; phase < channels; ++phase) phases[phase] = LanesOf(channels, phase);
  const __m512i to_all_bytes = _mm512_set1_epi32(0x01010101);
  const __m512i taps = _mm512_set1_epi32(channels == 1 ? 0x03020100 : 0x09060300);
  size_t n = static_cast<size_t>(word);
  for (int value = 0; value < columns->values; value += kQuadValues, n += words) {
    const size_t first = static_cast<size_t>(value / channels);
    const Lanes& lanes = phases[value % channels];
    const size_t there = std::min<size_t>(16, outputs - first);
    const __m512i firsts =
        _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << there) - 1), table.first.data() + first);
    const __m512i input = _mm512_permutexvar_epi32(lanes.output, firsts);
    const __m512i begin = _mm512_mullo_epi32(input, _mm512_set1_epi32(channels));
    const int shift = 4 * word * channels - columns->offset[n];
    const __m512i at = _mm512_add_epi32(_mm512_add_epi32(begin, lanes.channel), _mm512_set1_epi32(shift));
    // A tap whose weight is 0 may read any byte.
    const __m512i bytes = _mm512_mullo_epi32(_mm512_and_si512(at, _mm512_set1_epi32(127)), to_all_bytes);
    QuadGather& gather = columns->gather[n];
    _mm512_store_si512(gather.index, _mm512_add_epi8(bytes, taps));
    const QuadWeights* quad = quads.quads.data() + static_cast<size_t>(word) * outputs + first;
    for (int d = 0; d < 3; ++d) _mm512_store_si512(gather.digit[d], DigitsOf(quad, channels, lanes.output, d));
  }
}

int MostTaps(const FilterTable& table) {
  int most = 1;
  for (const int32_t count : table.count) most = std::max(most, count);
  return most;
}

}  // namespace

bool BuildQuadTable(const FilterTable& table, QuadTable* quads) {
  const size_t outputs = table.first.size(), words = (static_cast<size_t>(MostTaps(table)) + 3) / 4;
  quads->outputs = static_cast<int>(outputs);
  quads->words = static_cast<int>(words);
  if (quads->quads.size() < outputs * words + kSlack) quads->quads.resize(outputs * words + kSlack);
  return FillQuads(table, words, quads->quads.data());
}

bool BuildQuadColumns(const FilterTable& table, const QuadTable& quads, int channels, size_t row_bytes,
                      QuadColumns* columns) {
  const int values = quads.outputs * channels, words = quads.words, most = MostTaps(table);
  const size_t count = static_cast<size_t>((values + kQuadValues - 1) / kQuadValues) * static_cast<size_t>(words);
  columns->values = values;
  columns->words = words;
  columns->reach = 64;
  if (columns->offset.size() < count) {
    columns->offset.resize(count);
    columns->gather.resize(count);
  }
  const int bytes = static_cast<int>(std::min<size_t>(row_bytes, INT_MAX));
  size_t n = 0;
  for (int value = 0; value < values; value += kQuadValues) {
    const int first = table.first[static_cast<size_t>(value / channels)];
    const int last = table.first[static_cast<size_t>((std::min(value + kQuadValues, values) - 1) / channels)];
    for (int k = 0; k < words; ++k, ++n) {
      const int begin = (std::min(first, last) + 4 * k) * channels;
      const int end = std::min((std::max(first, last) + std::min(4 * k + 4, most)) * channels, bytes);
      if (end - begin > 64) columns->reach = 128;
      if (end - begin > 128) return false;
      columns->offset[n] = begin;
    }
  }
  if (bytes < columns->reach) return false;
  // Moves the offsets so that nothing past the row's end is read.
  for (size_t i = 0; i < n; ++i) columns->offset[i] = std::min(columns->offset[i], bytes - columns->reach);
  for (int k = 0; k < words; ++k) FillGathers(table, quads, channels, k, columns);
  return true;
}

}  // namespace penstock::image

#else

namespace penstock::image {

bool BuildQuadTable(const FilterTable&, QuadTable*) { PS_CHECK(false); }

bool BuildQuadColumns(const FilterTable&, const QuadTable&, int, size_t, QuadColumns*) { PS_CHECK(false); }

}  // namespace penstock::image

#endif  // HWY_ARCH_X86_64
