#include "tests/pipeline/image/picture_maker.h"

#include <webp/encode.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::image {
namespace {

void AppendNumber(std::string* bytes, uint32_t value, int count) {
  for (int i = 0; i < count; ++i) bytes->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

std::string MakeBmp(int width, int height, uint32_t seed) {
  const std::vector<uint8_t> rgb = MakePixels(width, height, 3, seed);
  const size_t row = (static_cast<size_t>(width) * 3 + 3) / 4 * 4;
  std::string bytes = "BM";
  AppendNumber(&bytes, static_cast<uint32_t>(54 + row * static_cast<size_t>(height)), 4);
  AppendNumber(&bytes, 0, 4);
  AppendNumber(&bytes, 54, 4);
  AppendNumber(&bytes, 40, 4);
  AppendNumber(&bytes, static_cast<uint32_t>(width), 4);
  AppendNumber(&bytes, static_cast<uint32_t>(height), 4);
  AppendNumber(&bytes, 1, 2);
  AppendNumber(&bytes, 24, 2);
  bytes.append(24, '\0');
  for (int y = height - 1; y >= 0; --y) {
    const size_t start = bytes.size();
    for (int x = 0; x < width; ++x) {
      const uint8_t* pixel =
          rgb.data() + (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 3;
      for (int c = 2; c >= 0; --c) bytes.push_back(static_cast<char>(pixel[c]));
    }
    bytes.resize(start + row);
  }
  return bytes;
}

std::string MakeGif(int width, int height, uint32_t seed) {
  const std::vector<uint8_t> gray = MakePixels(width, height, 1, seed);
  std::string bytes = "GIF89a";
  AppendNumber(&bytes, static_cast<uint32_t>(width), 2);
  AppendNumber(&bytes, static_cast<uint32_t>(height), 2);
  bytes.append("\xF7\0\0", 3);
  for (int i = 0; i < 256; ++i) bytes.append(3, static_cast<char>(255 - i));
  bytes.append(",\0\0\0\0", 5);
  AppendNumber(&bytes, static_cast<uint32_t>(width), 2);
  AppendNumber(&bytes, static_cast<uint32_t>(height), 2);
  bytes.push_back('\0');
  bytes.push_back(8);
  // All codes have 9 bits: a clear code precedes the growth of the table.
  std::string data;
  uint32_t window = 0;
  int held = 0;
  const auto put = [&](uint32_t code) {
    window |= code << held;
    for (held += 9; held >= 8; held -= 8, window >>= 8) data.push_back(static_cast<char>(window));
  };
  for (size_t i = 0; i < gray.size(); ++i) {
    if (i % 200 == 0) put(256);
    put(gray[i]);
  }
  put(257);
  if (held > 0) data.push_back(static_cast<char>(window));
  for (size_t at = 0; at < data.size(); at += 255) {
    const std::string block = data.substr(at, 255);
    bytes.push_back(static_cast<char>(block.size()));
    bytes += block;
  }
  return bytes + std::string("\0;", 2);
}

std::string MakeWebp(int width, int height, const WebpRecipe& recipe) {
  const std::vector<uint8_t> pixels = MakePixels(width, height, recipe.channels, recipe.seed);
  WebPConfig config;
  WebPPicture picture;
  PS_CHECK(WebPConfigInit(&config) && WebPPictureInit(&picture));
  config.lossless = recipe.lossless ? 1 : 0;
  config.quality = recipe.quality;
  config.method = recipe.method;
  picture.use_argb = config.lossless;
  picture.width = width;
  picture.height = height;
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  const int stride = width * recipe.channels;
  PS_CHECK(recipe.channels == 4 ? WebPPictureImportRGBA(&picture, pixels.data(), stride)
                                : WebPPictureImportRGB(&picture, pixels.data(), stride));
  PS_CHECK(WebPEncode(&config, &picture));
  WebPPictureFree(&picture);
  std::string bytes(reinterpret_cast<const char*>(writer.mem), writer.size);
  WebPMemoryWriterClear(&writer);
  return bytes;
}

}  // namespace penstock::image
