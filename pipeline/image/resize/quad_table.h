// A FilterTable in the layout of the passes that take four taps at a time (quad_passes.h).
//
// A weight w of 22 bits is split into three signed digits: w = (d2 * 256 + d1) * 256 + d0. One instruction (VPDPBUSD)
// multiplies four 8-bit pixels by four digits and adds the products without loss. Three of them make a 32-bit sum.
// Partial sums may wrap around, but the final sum fits and is correct.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TABLE_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/image/resize/resize_filter.h"

namespace penstock::image {

// The functions below require HasQuadPasses (quad_passes.h), because the same instructions build the tables.

// The digits of four adjacent weights: byte t of digit[d] belongs to tap t. digit[3] is unused.
struct QuadWeights {
  uint32_t digit[4] = {0, 0, 0, 0};
};

// Taps 4k to 4k + 3 of output i are in quads[k * outputs + i]. Those past the last tap are 0.
struct QuadTable {
  int outputs = 0, words = 0;
  std::vector<QuadWeights> quads;
  size_t held_bytes() const { return quads.capacity() * sizeof(QuadWeights); }
};

// Returns false if a weight needs more than three digits. No weight of a ResizeFilter does.
bool BuildQuadTable(const FilterTable& table, QuadTable* quads);

// Values (consecutive channels of pixels) that the horizontal pass computes at once.
constexpr int kQuadValues = 16;

// Inputs of the horizontal pass for kQuadValues values with four taps each: the indices of their bytes relative to an
// offset in the row, and their digits.
struct alignas(64) QuadGather {
  uint8_t index[4 * kQuadValues];
  uint32_t digit[3][kQuadValues];
};

struct QuadColumns {
  int values = 0;  // values per row of outputs
  int words = 0;
  int reach = 0;  // 64 or 128: the number of bytes that `index` addresses
  // Entry [g * words + k] is for group g and taps from 4k on. The `reach` bytes from an offset are inside the row.
  std::vector<int32_t> offset;
  std::vector<QuadGather> gather;
  size_t held_bytes() const { return offset.capacity() * sizeof(int32_t) + gather.capacity() * sizeof(QuadGather); }
};

// Builds the columns for rows of `row_bytes` bytes and 1 or 3 channels. table.first must be monotonic. Returns false if
// the inputs of a group span more than 128 bytes, or if a row has fewer bytes than `reach`. `reach` is 128 if a group
// spans more than 64.
bool BuildQuadColumns(const FilterTable& table, const QuadTable& quads, int channels, size_t row_bytes,
                      QuadColumns* columns);

// Returns an upper bound of the bytes of both tables, for an axis of `outputs` outputs with up to `taps` taps.
size_t QuadTableBytes(size_t outputs, size_t taps, size_t channels);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TABLE_H_
