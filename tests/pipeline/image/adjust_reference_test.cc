// Compares color, contrast and sharpness with torchvision on Pillow images. Without those pictures it checks laws on a
// generated image.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "pipeline/image/adjust.h"
#include "pipeline/image/blur.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::image {
namespace {

// Returns false if the op is not in adjust.h.
bool ApplyOp(const std::string& op, double argument, const ImageView& in, ImageTarget out) {
  const float factor = static_cast<float>(argument);
  if (op == "Brightness") {
    AdjustBrightness(in, factor, out);
  } else if (op == "Color") {
    AdjustSaturation(in, factor, out);
  } else if (op == "Contrast") {
    AdjustContrast(in, factor, out);
  } else if (op == "Sharpness") {
    AdjustSharpness(in, factor, out);
  } else if (op == "Posterize") {
    Posterize(in, static_cast<int>(argument), out);
  } else if (op == "Solarize") {
    Solarize(in, static_cast<int>(argument), out);
  } else if (op == "AutoContrast") {
    Autocontrast(in, out);
  } else if (op == "Equalize") {
    Equalize(in, out);
  } else if (op == "Invert") {
    Invert(in, out);
  } else if (op == "Grayscale") {
    ToGrayscale(in, out);
  } else if (op == "Hue") {
    AdjustHue(in, argument, out);
  } else {
    return false;
  }
  return true;
}

// Prints the largest difference for each op. All pixels should be equal.
TEST(AdjustReference, PixelsMatchTorchvisionOnPillowImages) {
  const auto folder = ReferenceFolder();
  if (!folder) {
    const RgbImage in{60, 40, MakePixels(60, 40, 3, 5)};
    RgbImage out = in;
    for (int i = 0; i < 2; ++i) ApplyOp("Invert", 0, out.view(), {out.rgb.data(), 180});
    EXPECT_EQ(out.rgb, in.rgb);
    return;
  }
  std::map<std::string, int> worst;
  const auto manifest = ReadJson(*folder + "/ops_torchvision/manifest.json");
  for (const auto& item : manifest.fields().at("ops").list_value().values()) {
    const auto& entry = item.struct_value().fields();
    const std::string op = entry.at("op").string_value();
    const double argument = entry.at("argument").number_value();
    const RgbImage in = ReadPng(*folder + "/ops_torchvision/" + entry.at("input").string_value());
    std::vector<uint8_t> ours(in.rgb.size());
    if (!ApplyOp(op, argument, in.view(), {ours.data(), in.view().stride})) continue;
    const RgbImage theirs = ReadPng(*folder + "/ops_torchvision/" + entry.at("file").string_value());
    ASSERT_EQ(ours.size(), theirs.rgb.size());
    int difference = 0;
    for (size_t i = 0; i < ours.size(); ++i) difference = std::max(difference, std::abs(ours[i] - theirs.rgb[i]));
    EXPECT_EQ(difference, 0) << op << " " << argument << " " << entry.at("input").string_value();
    worst[op] = std::max(worst[op], difference);
  }
  for (const auto& [op, difference] : worst) std::printf("%-14s largest difference %d\n", op.c_str(), difference);
  EXPECT_EQ(worst.size(), 11u);
}

TEST(AdjustReference, GaussianBlurIsWithinOneOfTorchvisionOnTensors) {
  const auto folder = ReferenceFolder();
  const auto blur = [](const RgbImage& in, int size, double sigma) {
    std::vector<uint8_t> out(in.rgb.size()), scratch(GaussianBlurBytes(in.width, 3, size));
    GaussianBlur(in.view(), GaussianWeights(size, sigma), scratch.data(), {out.data(), in.view().stride});
    return out;
  };
  if (!folder) {
    const RgbImage in{60, 40, MakePixels(60, 40, 3, 5)};
    EXPECT_EQ(blur(in, 1, 2), in.rgb);
    return;
  }
  int pictures = 0, worst = 0;
  size_t values = 0, equal = 0;
  const auto manifest = ReadJson(*folder + "/ops_torchvision/manifest.json");
  for (const auto& item : manifest.fields().at("ops").list_value().values()) {
    const auto& entry = item.struct_value().fields();
    if (entry.at("op").string_value() != "GaussianBlurTensor") continue;
    const auto& argument = entry.at("argument").struct_value().fields();
    const RgbImage in = ReadPng(*folder + "/ops_torchvision/" + entry.at("input").string_value());
    const RgbImage theirs = ReadPng(*folder + "/ops_torchvision/" + entry.at("file").string_value());
    const auto ours =
        blur(in, static_cast<int>(argument.at("kernel").number_value()), argument.at("sigma").number_value());
    for (size_t i = 0; i < ours.size(); ++i) {
      worst = std::max(worst, std::abs(ours[i] - theirs.rgb[i]));
      equal += ours[i] == theirs.rgb[i];
    }
    values += ours.size();
    ++pictures;
  }
  std::printf("GaussianBlur   %d pictures, largest difference %d, %zu of %zu values equal\n", pictures, worst, equal,
              values);
  EXPECT_GT(pictures, 0);
  EXPECT_LE(worst, 1);
}

}  // namespace
}  // namespace penstock::image
