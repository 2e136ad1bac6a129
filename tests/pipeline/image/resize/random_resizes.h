// Random values for the tests of resizing.
#ifndef PENSTOCK_TESTS_PIPELINE_IMAGE_RESIZE_RANDOM_RESIZES_H_
#define PENSTOCK_TESTS_PIPELINE_IMAGE_RESIZE_RANDOM_RESIZES_H_

#include <cstdint>

#include "base/philox.h"
#include "pipeline/image/resize/resize_filter.h"

namespace penstock::image {

// Returns a number in [low, high].
inline int Pick(SampleRandom* random, int low, int high) {
  return low + static_cast<int>(random->Below(static_cast<uint32_t>(high - low + 1)));
}

// Pillow's filters with weights.
inline constexpr ResizeFilter kFilters[] = {ResizeFilter::kBilinear, ResizeFilter::kBicubic, ResizeFilter::kLanczos,
                                            ResizeFilter::kBox, ResizeFilter::kHamming};

}  // namespace penstock::image

#endif  // PENSTOCK_TESTS_PIPELINE_IMAGE_RESIZE_RANDOM_RESIZES_H_
