// The two inner loops of the resize, vectorized with Highway and dispatched at run time. They use only integers. Every
// target gives the bytes of the scalar loops, which a test verifies.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_PASSES_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_PASSES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/image/image_view.h"
#include "pipeline/image/resize/resize_filter.h"

namespace penstock::image {

// A FilterTable in the layout of the vector loops. A weight w of 22 bits is split into w = hi * 2^15 + lo with 0 <= lo
// < 2^15, so that both parts fit 16-bit multiply-adds. Two neighboring taps share a 32-bit word. Partial sums may wrap
// around in 32 bits, but the final sum fits and is correct.
struct PairTable {
  int outputs = 0;
  int pairs = 0;                // words per output, a multiple of `group`
  std::vector<int32_t> lo, hi;  // tap 2p in the low half of word p, tap 2p + 1 in the high half
  size_t held_bytes() const { return (lo.capacity() + hi.capacity()) * sizeof(int32_t); }
};

void BuildPairTable(const FilterTable& table, int group, PairTable* pairs);
size_t PairTableBytes(const FilterTable& table, int group);

// Returns the number to which the horizontal pass pads the words per output. One load then covers four RGB taps or
// eight gray ones.
constexpr int HorizontalGroup(int channels) { return channels == 1 ? 4 : 2; }

// Filters rows: row y, output i, channel c of `out` is the weighted sum over the inputs of row y, rounded and clipped
// to 8 bits. `source` has 1 or 3 channels, and `pairs` is built for their HorizontalGroup. `padded` is scratch memory
// that the caller keeps between calls.
void HorizontalPass(const FilterTable& table, const PairTable& pairs, const ImageView& source, uint8_t* out,
                    size_t stride, std::vector<uint8_t>* padded);
void HorizontalPassScalar(const FilterTable& table, const ImageView& source, uint8_t* out, size_t stride);

// Outputs [begin, end) of a table.
struct OutputRange {
  int begin = 0, end = 0;
};

// Filters columns: output i, written to `out` + (i - range.begin) * `stride`, is the weighted sum of the table's input
// rows, value by value. Row 0 of `source` is input row `first`. `source` has all rows that the range needs.
void VerticalPass(const FilterTable& table, const PairTable& pairs, OutputRange range, const ImageView& source,
                  int first, uint8_t* out, size_t stride);
void VerticalPassScalar(const FilterTable& table, OutputRange range, const ImageView& source, int first, uint8_t* out,
                        size_t stride);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_PASSES_H_
