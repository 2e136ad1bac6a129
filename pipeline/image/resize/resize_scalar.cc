// The scalar loops. They define the results of the vector targets, and serve targets without a vector path and narrow
// rows.
#include <algorithm>

#include "pipeline/image/resize/resize_passes.h"

namespace penstock::image {
namespace {

uint8_t Clip(int32_t sum) {
  const int32_t value = sum >> kWeightBits;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

constexpr uint32_t kHalfWeight = 1u << (kWeightBits - 1);

}  // namespace

void HorizontalPassScalar(const FilterTable& table, const ImageView& source, uint8_t* out, size_t stride) {
  const size_t channels = static_cast<size_t>(source.channels), taps = static_cast<size_t>(table.taps);
  for (int y = 0; y < source.height; ++y, out += stride) {
    const uint8_t* row = source.row(y);
    for (size_t i = 0; i < table.first.size(); ++i) {
      const int32_t* weight = table.weight.data() + i * taps;
      const uint8_t* from = row + static_cast<size_t>(table.first[i]) * channels;
      for (size_t c = 0; c < channels; ++c) {
        uint32_t sum = kHalfWeight;  // unsigned: partial sums may wrap, but the total fits
        for (int t = 0; t < table.count[i]; ++t) {
          sum += from[static_cast<size_t>(t) * channels + c] * static_cast<uint32_t>(weight[t]);
        }
        out[i * channels + c] = Clip(static_cast<int32_t>(sum));
      }
    }
  }
}

void VerticalPassScalar(const FilterTable& table, OutputRange range, const ImageView& source, int first, uint8_t* out,
                        size_t stride) {
  const size_t bytes = source.row_bytes(), taps = static_cast<size_t>(table.taps);
  for (size_t i = static_cast<size_t>(range.begin); i < static_cast<size_t>(range.end); ++i, out += stride) {
    const int32_t* weight = table.weight.data() + i * taps;
    const uint8_t* from = source.row(table.first[i] - first);
    for (size_t x = 0; x < bytes; ++x) {
      uint32_t sum = kHalfWeight;
      for (int t = 0; t < table.count[i]; ++t) {
        sum += from[static_cast<size_t>(t) * source.stride + x] * static_cast<uint32_t>(weight[t]);
      }
      out[x] = Clip(static_cast<int32_t>(sum));
    }
  }
}

void BuildPairTable(const FilterTable& table, int group, PairTable* pairs) {
  const size_t outputs = table.first.size(), taps = static_cast<size_t>(table.taps);
  size_t used = 1;
  for (const int32_t count : table.count) used = std::max(used, static_cast<size_t>(count));
  const size_t words =
      ((used + 1) / 2 + static_cast<size_t>(group) - 1) / static_cast<size_t>(group) * static_cast<size_t>(group);
  pairs->outputs = static_cast<int>(outputs);
  pairs->pairs = static_cast<int>(words);
  pairs->lo.resize(outputs * words);
  pairs->hi.resize(outputs * words);
  for (size_t i = 0; i < outputs; ++i) {
    for (size_t p = 0; p < words; ++p) {
      const int32_t w0 = 2 * p < taps ? table.weight[i * taps + 2 * p] : 0;
      const int32_t w1 = 2 * p + 1 < taps ? table.weight[i * taps + 2 * p + 1] : 0;
      const auto join = [](int32_t a, int32_t b) {
        return static_cast<int32_t>((static_cast<uint32_t>(a) & 0xFFFF) | static_cast<uint32_t>(b) << 16);
      };
      pairs->lo[i * words + p] = join(w0 & 0x7FFF, w1 & 0x7FFF);
      pairs->hi[i * words + p] = join(w0 >> 15, w1 >> 15);
    }
  }
}

size_t PairTableBytes(const FilterTable& table, int group) {
  return table.first.size() * (static_cast<size_t>(table.taps) / 2 + 1 + static_cast<size_t>(group)) * 8;
}

}  // namespace penstock::image
