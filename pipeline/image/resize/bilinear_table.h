// The bilinear filter's table, many outputs at once: photographs' rows take it, and its divisions one by one would be a
// tenth of an image's resize.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_BILINEAR_TABLE_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_BILINEAR_TABLE_H_

#include "pipeline/image/resize/resize_filter.h"

namespace penstock {

// Fills first, count and weight, which have their sizes and whose weights are 0, of outputs [begin, begin +
// first.size()), mirrored when `mirror`: the numbers of BuildFilterTable's own loop on every CPU, by the same double
// operations in the same order.
void FillBilinearTable(int in_size, int out_size, int begin, bool mirror, FilterTable* table);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_BILINEAR_TABLE_H_
