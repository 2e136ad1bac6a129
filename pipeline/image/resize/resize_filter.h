// The weights of Pillow's antialiased resampling filters.
//
// Source of the formulas: Pillow's documentation of its filters ("Concepts", "Filters") and the structure of its
// src/libImaging/Resample.c. The filter is stretched by the scale if it shrinks the image, and its support is clipped
// at the image's border. The weights of one output are normalized to 1 and then rounded to 22 fractional bits.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_FILTER_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::image {

enum class ResizeFilter : uint8_t { kBilinear, kBicubic, kLanczos, kBox, kHamming, kNearest };

// Fractional bits of a weight: 32, minus 8 for the pixel and 2 for overshoot and sign.
constexpr int kWeightBits = 22;

// One axis: output i, counted from the first requested one, is the sum over t < count[i] of weight[i * taps + t] *
// input[first[i] + t], in units of 2^-22.
struct FilterTable {
  int taps = 0;  // upper bound of every count; weights past count[i] are 0
  std::vector<int32_t> first, count;
  std::vector<int32_t> weight;
  std::vector<double> unrounded;  // reused while building

  size_t held_bytes() const;
};

// Returns the filter's half width: in output pixels if the image shrinks, otherwise in input pixels.
double FilterSupport(ResizeFilter filter);

// Sets the first input and the number of inputs of output `i` when `in_size` pixels become `out_size`.
void FilterReach(ResizeFilter filter, int in_size, int out_size, int i, int32_t* first, int32_t* count);

// Returns an upper bound of the inputs of an output: FilterTable::taps.
int FilterTaps(ResizeFilter filter, int in_size, int out_size);

// Builds the table of outputs [begin, end), in reverse order if `mirror`. Does not support kNearest. Uses only IEEE
// double operations, std::fabs, std::ceil and base/portable_math.h. All are exactly defined, so the numbers are the
// same on every CPU.
void BuildFilterTable(ResizeFilter filter, int in_size, int out_size, int begin, int end, bool mirror,
                      FilterTable* table);

// Returns an upper bound of the bytes of such a table.
size_t FilterTableBytes(ResizeFilter filter, int in_size, int out_size, int outputs);

// Sets the input pixel of each output in [begin, end) for kNearest: the pixel under the output's center.
void BuildNearestTable(int in_size, int out_size, int begin, int end, bool mirror, std::vector<int32_t>* index);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_RESIZE_FILTER_H_
