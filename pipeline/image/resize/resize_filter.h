// The weights of Pillow's antialiased resampling filters.
//
// Source of the formulas: Pillow's documentation of its filters ("Concepts", "Filters") and the structure of its
// src/libImaging/Resample.c: the filter is stretched by the scale when it shrinks, its support is cut at the
// image's border, the weights of one output are normalized to 1 and then rounded to 22 fractional bits.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_FILTER_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

enum class ResizeFilter : uint8_t { kBilinear, kBicubic, kLanczos, kBox, kHamming, kNearest };

// Fractional bits of a weight: 32, less 8 for the pixel and 2 for overshoot and sign.
constexpr int kWeightBits = 22;

// One axis: output i (counted from the first one asked for) is the sum over t < count[i] of
// weight[i * taps + t] * input[first[i] + t], in units of 2^-22.
struct FilterTable {
  int taps = 0;  // the most that any output has; weights past count[i] are 0
  std::vector<int32_t> first, count;
  std::vector<int32_t> weight;
  std::vector<double> unrounded;  // reused while building

  size_t held_bytes() const;
};

// Half width of the filter in output pixels.
double FilterSupport(ResizeFilter filter);

// First input and number of inputs of output `i` when `in_size` pixels become `out_size`.
void FilterReach(ResizeFilter filter, int in_size, int out_size, int i, int32_t* first, int32_t* count);

// The most inputs that any output has: FilterTable::taps.
int FilterTaps(ResizeFilter filter, int in_size, int out_size);

// The table of outputs [begin, end); all of them mirrored (the last one first) when `mirror`. Not for kNearest.
// The same numbers on every CPU: only IEEE double operations, no libm.
void BuildFilterTable(ResizeFilter filter, int in_size, int out_size, int begin, int end, bool mirror,
                      FilterTable* table);

// Upper bound of the bytes of such a table.
size_t FilterTableBytes(ResizeFilter filter, int in_size, int out_size, int outputs);

// The input pixel of each output in [begin, end) for kNearest: the one under the output's center.
void BuildNearestTable(int in_size, int out_size, int begin, int end, bool mirror, std::vector<int32_t>* index);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_FILTER_H_
