// Lossless WebP files with any number of groups of prefix codes. The format allows them, and no encoder writes them.
#ifndef PENSTOCK_TESTS_PIPELINE_IMAGE_VP8L_MAKER_H_
#define PENSTOCK_TESTS_PIPELINE_IMAGE_VP8L_MAKER_H_

#include <string>

namespace penstock::image {

struct Vp8lRecipe {
  int width = 0, height = 0;
  int groups = 1;           // at most 65536; blocks of 4 x 4 pixels use them in turn
  int first_group = 0;      // number of the first group
  int cache_bits = 0;       // 0 to 11
  bool transforms = false;  // predictor and cross color, in blocks of 4 x 4 pixels
};

// A whole file whose every pixel is black.
std::string MakeVp8l(const Vp8lRecipe& recipe);

}  // namespace penstock::image

#endif  // PENSTOCK_TESTS_PIPELINE_IMAGE_VP8L_MAKER_H_
