// Builds the bilinear filter's table for many outputs at once. Dividing for one output after the other would take a
// tenth of the time of a resize.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_BILINEAR_TABLE_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_BILINEAR_TABLE_H_

#include "pipeline/image/resize/resize_filter.h"

namespace penstock::image {

// Fills `first`, `count` and `weight` for outputs [begin, begin + first.size()), mirrored if `mirror`. The vectors must
// have their sizes, and the weights must be 0. On every CPU, the numbers equal those of BuildFilterTable's own loop,
// through the same double operations in the same order.
void FillBilinearTable(int in_size, int out_size, int begin, bool mirror, FilterTable* table);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_BILINEAR_TABLE_H_
