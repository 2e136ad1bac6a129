// Small files of the formats other than JPEG, of MakePixels' pixels. (PNG: EncodePng.)
#ifndef PENSTOCK_TESTS_PIPELINE_IMAGE_PICTURE_MAKER_H_
#define PENSTOCK_TESTS_PIPELINE_IMAGE_PICTURE_MAKER_H_

#include <cstdint>
#include <string>

namespace penstock {

// 24 bits a pixel; MakePixels(width, height, 3, seed).
std::string MakeBmp(int width, int height, uint32_t seed);

// MakePixels(width, height, 1, seed) as colors of a palette of grays: color i is 255 - i.
std::string MakeGif(int width, int height, uint32_t seed);

struct WebpRecipe {
  int channels = 3;  // 4: with alpha
  bool lossless = true;
  float quality = 75;  // lossless: effort
  int method = 4;      // 0 to 6
  uint32_t seed = 1;
};
// MakePixels(width, height, channels, seed), by libwebp.
std::string MakeWebp(int width, int height, const WebpRecipe& recipe);

}  // namespace penstock

#endif  // PENSTOCK_TESTS_PIPELINE_IMAGE_PICTURE_MAKER_H_
