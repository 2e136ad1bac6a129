// Compares warps with torchvision on Pillow images. Without those pictures it compares the maps with each other on a
// generated image.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "pipeline/image/warp.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::image {
namespace {

std::vector<uint8_t> RunWarp(const RgbImage& in, const WarpMap& map, WarpSampling sampling) {
  constexpr uint8_t kFill[3] = {0, 0, 0};
  std::vector<uint8_t> out(in.rgb.size());
  Warp(in.view(), map, sampling, kFill, in.width, in.height, {out.data(), static_cast<size_t>(in.width) * 3});
  return out;
}

TEST(WarpReference, ShearTranslateAndRotateMatchTorchvision) {
  const auto folder = ReferenceFolder();
  if (!folder) {
    const RgbImage in{60, 40, MakePixels(60, 40, 3, 5)};
    EXPECT_EQ(RunWarp(in, RotateMap(180, 60, 40), WarpSampling::kNearest),
              RunWarp(in, AffineMap({.degrees = 180}, 60, 40), WarpSampling::kNearest));
    return;
  }
  size_t pictures = 0, pixels = 0, equal = 0;
  int worst_bilinear = 0;
  const auto manifest = ReadJson(*folder + "/ops_torchvision/manifest.json");
  for (const auto& item : manifest.fields().at("ops").list_value().values()) {
    const auto& entry = item.struct_value().fields();
    const std::string op = entry.at("op").string_value();
    const double argument = entry.at("argument").number_value();
    const RgbImage in = ReadPng(*folder + "/ops_torchvision/" + entry.at("input").string_value());
    WarpMap map;
    WarpSampling sampling = WarpSampling::kNearest;
    if (op == "ShearX") {
      map = ShearMap(argument, 0);
    } else if (op == "ShearY") {
      map = ShearMap(0, argument);
    } else if (op == "TranslateX") {
      map = AffineMap({.translate_x = argument}, in.width, in.height);
    } else if (op == "TranslateY") {
      map = AffineMap({.translate_y = argument}, in.width, in.height);
    } else if (op == "Rotate" || op == "RotateBilinear") {
      map = RotateMap(argument, in.width, in.height);
      if (op == "RotateBilinear") sampling = WarpSampling::kBilinear;
    } else {
      continue;
    }
    ++pictures;
    const RgbImage theirs = ReadPng(*folder + "/ops_torchvision/" + entry.at("file").string_value());
    const std::vector<uint8_t> ours = RunWarp(in, map, sampling);
    ASSERT_EQ(ours.size(), theirs.rgb.size());
    size_t same = 0;
    for (size_t i = 0; i < ours.size(); i += 3) {
      int worst = 0;
      for (size_t c = 0; c < 3; ++c) worst = std::max(worst, std::abs(ours[i + c] - theirs.rgb[i + c]));
      same += worst == 0;
      if (sampling == WarpSampling::kBilinear) worst_bilinear = std::max(worst_bilinear, worst);
    }
    if (sampling == WarpSampling::kBilinear) continue;
    pixels += ours.size() / 3;
    equal += same;
    EXPECT_GE(static_cast<double>(same), 0.999 * static_cast<double>(ours.size() / 3)) << op << " " << argument;
  }
  std::printf("%zu pictures, nearest: %zu of %zu pixels equal; bilinear: largest difference %d\n", pictures, equal,
              pixels, worst_bilinear);
  EXPECT_GT(pictures, 0u);
  EXPECT_LE(worst_bilinear, 1);
}

}  // namespace
}  // namespace penstock::image
