// Makes JPEG files of every kind for the tests with libjpeg: smooth color with noise, so that each row and column of
// blocks differs.
#ifndef PENSTOCK_TESTS_PIPELINE_IMAGE_JPEG_MAKER_H_
#define PENSTOCK_TESTS_PIPELINE_IMAGE_JPEG_MAKER_H_

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::image {

struct JpegRecipe {
  int width = 0, height = 0;
  int components = 3;                // 1 gray, 3 YCbCr, 4 CMYK
  int horizontal = 1, vertical = 1;  // sampling factors of the components 1 and 4; the others have 1
  bool progressive = false;
  bool separate_scans = false;  // one scan for each component, not progressive
  int restart_interval = 0;     // MCUs
  bool ycck = false;            // with 4 components
  int quality = 85;
  uint32_t seed = 1;
};

std::string MakeJpeg(const JpegRecipe& recipe);

// Returns the pixels that MakeJpeg compresses, dense, with one byte for each channel.
std::vector<uint8_t> MakePixels(int width, int height, int channels, uint32_t seed);

}  // namespace penstock::image

#endif  // PENSTOCK_TESTS_PIPELINE_IMAGE_JPEG_MAKER_H_
