// A FilterTable in the layout of the passes that take four taps at a time (quad_passes.h).
//
// A weight w of 22 bits becomes three signed digits: w = (d2 * 256 + d1) * 256 + d0. Four pixels of 8 bits times four
// digits are what one instruction (VPDPBUSD) adds up, without a loss; three of them make a sum of 32 bits, which may
// wrap around in between and comes out right because the final sum fits.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TABLE_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/image/resize/resize_filter.h"

namespace penstock {

// The functions below may only be called where HasQuadPasses (quad_passes.h): the tables are made by the same
// instructions.

// The digits of four weights, side by side: byte t of digit[d] belongs to tap t. digit[3] is unused.
struct QuadWeights {
  uint32_t digit[4] = {0, 0, 0, 0};
};

// Taps 4k to 4k + 3 of output i are quads[k * outputs + i]; those past the last tap are 0.
struct QuadTable {
  int outputs = 0, words = 0;
  std::vector<QuadWeights> quads;
  size_t held_bytes() const { return quads.capacity() * sizeof(QuadWeights); }
};

// False when a weight takes more than three digits, which no filter of ours has.
bool BuildQuadTable(const FilterTable& table, QuadTable* quads);

// Values (channels of pixels, one after the other) that the horizontal pass makes at once.
constexpr int kQuadValues = 16;

// What the horizontal pass needs for kQuadValues values and four taps of each: where their inputs begin in the row,
// which bytes from there on they are, and their digits.
struct alignas(64) QuadGather {
  uint8_t index[4 * kQuadValues];
  uint32_t digit[3][kQuadValues];
};

struct QuadColumns {
  int values = 0;  // of a row of outputs
  int words = 0;
  int reach = 0;  // 64 or 128: how many bytes `index` counts through
  // Group g, taps from 4k on: [g * words + k]. An offset and `reach` lie inside the row.
  std::vector<int32_t> offset;
  std::vector<QuadGather> gather;
  size_t held_bytes() const { return offset.capacity() * sizeof(int32_t) + gather.capacity() * sizeof(QuadGather); }
};

// For rows of `row_bytes` bytes and 1 or 3 channels; table.first only grows or only falls. False when it cannot be: a
// row is shorter than 64 bytes, or the inputs of a group lie further apart than 128.
bool BuildQuadColumns(const FilterTable& table, const QuadTable& quads, int channels, size_t row_bytes,
                      QuadColumns* columns);

// Upper bound of the bytes of both, for an axis of `outputs` outputs of up to `taps` taps.
size_t QuadTableBytes(size_t outputs, size_t taps, size_t channels);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_TABLE_H_
