#include "pipeline/image/resize/quad_table.h"

#include <algorithm>
#include <climits>

namespace penstock {
namespace {

// Added to a weight it carries what each of its digits is below zero into the next one.
constexpr uint32_t kCarry = 0x808080;

// Bytes of a row, counted from its begin.
struct Span {
  int begin = INT_MAX, end = 0;
};

// The inputs of outputs [first, last], taps from 4 * word on.
Span InputsOf(const FilterTable& table, size_t first, size_t last, int word, int channels) {
  Span span;
  for (size_t i = first; i <= last; ++i) {
    const int taps = std::min(table.count[i] - 4 * word, 4);
    if (taps <= 0) continue;
    const int begin = (table.first[i] + 4 * word) * channels;
    span.begin = std::min(span.begin, begin);
    span.end = std::max(span.end, begin + taps * channels);
  }
  if (span.end == 0) span.begin = 0;
  return span;
}

}  // namespace

bool BuildQuadTable(const FilterTable& table, QuadTable* quads) {
  const size_t outputs = table.first.size(), taps = static_cast<size_t>(table.taps);
  int used = 1;
  for (const int32_t count : table.count) used = std::max(used, count);
  const size_t words = (static_cast<size_t>(used) + 3) / 4;
  quads->outputs = static_cast<int>(outputs);
  quads->words = static_cast<int>(words);
  if (quads->quads.size() < outputs * words) quads->quads.resize(outputs * words);
  QuadWeights* quad = quads->quads.data();
  uint32_t all = 0;
  for (size_t i = 0; i < outputs; ++i) {
    const int32_t* weight = table.weight.data() + i * taps;
    for (size_t k = 0; k < words; ++k, ++quad) {
      uint32_t digit0 = 0, digit1 = 0, digit2 = 0;
      const size_t count = std::min<size_t>(4, taps - std::min(taps, 4 * k));
      for (size_t t = 0; t < count; ++t) {
        const uint32_t carried = static_cast<uint32_t>(weight[4 * k + t]) + kCarry;
        all |= carried;
        const uint32_t digits = carried ^ kCarry;
        digit0 |= (digits & 255) << 8 * t;
        digit1 |= (digits >> 8 & 255) << 8 * t;
        digit2 |= (digits >> 16 & 255) << 8 * t;
      }
      *quad = {{digit0, digit1, digit2}};
    }
  }
  return all >> 24 == 0;
}

bool BuildQuadColumns(const FilterTable& table, const QuadTable& quads, int channels, size_t row_bytes,
                      QuadColumns* columns) {
  const int values = quads.outputs * channels, words = quads.words;
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
    const size_t first = static_cast<size_t>(value / channels);
    const size_t last = static_cast<size_t>(std::min(value + kQuadValues, values) - 1) / static_cast<size_t>(channels);
    for (int k = 0; k < words; ++k, ++n) {
      const Span span = InputsOf(table, first, last, k, channels);
      if (span.end - span.begin > 64) columns->reach = 128;
      if (span.end - span.begin > 128) return false;
      columns->offset[n] = span.begin;
    }
  }
  if (bytes < columns->reach) return false;
  n = 0;
  for (int value = 0; value < values; value += kQuadValues) {
    for (int k = 0; k < words; ++k, ++n) {
      // Nothing past the row's end is read.
      const int offset = columns->offset[n] = std::min(columns->offset[n], bytes - columns->reach);
      QuadGather& gather = columns->gather[n];
      int output = value / channels, channel = value % channels;
      for (size_t lane = 0; lane < kQuadValues; ++lane) {
        const size_t i = static_cast<size_t>(output);
        // A tap whose weight is 0 may be any byte.
        const int at = ((table.first[i] + 4 * k) * channels + channel - offset) & 127;
        for (int t = 0; t < 4; ++t)
          gather.index[4 * lane + static_cast<size_t>(t)] = static_cast<uint8_t>(at + t * channels);
        const QuadWeights& quad = quads.quads[i * static_cast<size_t>(words) + static_cast<size_t>(k)];
        for (size_t d = 0; d < 3; ++d) gather.digit[d][lane] = quad.digit[d];
        if (++channel == channels) {
          channel = 0;
          output = std::min(output + 1, quads.outputs - 1);
        }
      }
    }
  }
  return true;
}

size_t QuadTableBytes(size_t outputs, size_t taps, size_t channels) {
  const size_t words = taps / 4 + 1;
  const size_t gathers = (outputs * channels / kQuadValues + 1) * words;
  return outputs * words * sizeof(QuadWeights) + gathers * (sizeof(QuadGather) + sizeof(int32_t));
}

}  // namespace penstock
