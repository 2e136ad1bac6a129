// Small files of formats other than JPEG. For PNG, use EncodePng (pipeline/image/formats/png.h).
#ifndef PENSTOCK_TESTS_PIPELINE_IMAGE_PICTURE_MAKER_H_
#define PENSTOCK_TESTS_PIPELINE_IMAGE_PICTURE_MAKER_H_

#include <cstdint>
#include <string>

namespace penstock::image {

// Returns MakePixels(width, height, 3, seed) with 24 bits per pixel.
std::string MakeBmp(int width, int height, uint32_t seed);

// Returns a GIF whose palette indices are MakePixels(width, height, 1, seed). Palette entry i is the gray 255 - i.
std::string MakeGif(int width, int height, uint32_t seed);

struct WebpRecipe {
  int channels = 3;  // 4: with alpha
  bool lossless = true;
  float quality = 75;  // 0 to 100; in lossless mode, libwebp's effort
  int method = 4;      // 0 to 6
  uint32_t seed = 1;
};
// Returns MakePixels(width, height, channels, seed), compressed by libwebp.
std::string MakeWebp(int width, int height, const WebpRecipe& recipe);

}  // namespace penstock::image

#endif  // PENSTOCK_TESTS_PIPELINE_IMAGE_PICTURE_MAKER_H_
