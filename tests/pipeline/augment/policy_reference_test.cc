// Compares each policy op at a magnitude with torchvision on Pillow images. Without those pictures it checks the ops on
// a generated image.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "pipeline/augment/ops/policy/policy_ops.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::augment {
namespace {

std::vector<uint8_t> MakePixelsOf(const image::RgbImage& in, const PolicyChoice& choice, image::WarpSampling sampling) {
  std::vector<uint8_t> out(in.rgb.size());
  MakePolicyPixels(choice, {.sampling = sampling, .fill = {}}, in.view(),
                   {out.data(), static_cast<size_t>(in.width) * 3});
  return out;
}

const std::map<std::string, PolicyOp>& Ops() {
  static const auto* const ops = [] {
    auto* map = new std::map<std::string, PolicyOp>;
    for (int i = 0; i <= static_cast<int>(PolicyOp::kInvert); ++i) {
      const auto op = static_cast<PolicyOp>(i);
      (*map)[std::string(PolicyOpName(op))] = op;
    }
    return map;
  }();
  return *ops;
}

// The manifest lists brightness and similar ops by their factor.
bool IsEnhance(PolicyOp op) { return op >= PolicyOp::kBrightness && op <= PolicyOp::kSharpness; }

// The largest permitted difference of a value, for ops that do not move pixels.
int Tolerance(PolicyOp op) { return IsEnhance(op) || op == PolicyOp::kAutoContrast ? 1 : 0; }

TEST(PolicyReference, OpsMatchTheirDefinitionsOnAGeneratedImage) {
  const image::RgbImage in{60, 40, image::MakePixels(60, 40, 3, 5)};
  EXPECT_EQ(MakePixelsOf(in, {PolicyOp::kIdentity, 0}, image::WarpSampling::kNearest), in.rgb);
  EXPECT_EQ(MakePixelsOf(in, {PolicyOp::kBrightness, 0}, image::WarpSampling::kNearest), in.rgb);
  const std::vector<uint8_t> inverted = MakePixelsOf(in, {PolicyOp::kInvert, 0}, image::WarpSampling::kNearest);
  EXPECT_EQ(MakePixelsOf(in, {PolicyOp::kSolarize, 0}, image::WarpSampling::kNearest), inverted);
  // int() rounds toward 0, and the picture moves to the right and down.
  const std::vector<uint8_t> moved = MakePixelsOf(in, {PolicyOp::kTranslateX, 3.9}, image::WarpSampling::kNearest);
  EXPECT_EQ(moved[3 * 3], in.rgb[0]);
  EXPECT_EQ(moved[0], 0);
  EXPECT_EQ(MakePixelsOf(in, {PolicyOp::kTranslateY, -0.9}, image::WarpSampling::kNearest), in.rgb);
  // A threshold between two numbers acts as the upper one.
  EXPECT_EQ(MakePixelsOf(in, {PolicyOp::kSolarize, 99.5}, image::WarpSampling::kNearest),
            MakePixelsOf(in, {PolicyOp::kSolarize, 100}, image::WarpSampling::kNearest));
}

TEST(PolicyReference, EveryOpMatchesTorchvision) {
  const auto folder = image::ReferenceFolder();
  if (!folder) {
    EXPECT_EQ(Ops().size(), 15u);
    return;
  }
  std::map<std::string, int> pictures;
  const auto manifest = image::ReadJson(*folder + "/ops_torchvision/manifest.json");
  for (const auto& item : manifest.fields().at("ops").list_value().values()) {
    const auto& entry = item.struct_value().fields();
    std::string name = entry.at("op").string_value();
    const bool bilinear = name == "RotateBilinear";
    if (bilinear) name = "Rotate";
    const auto op = Ops().find(name);
    if (op == Ops().end()) continue;
    ++pictures[name];
    const double argument = entry.at("argument").number_value();
    const PolicyChoice choice{op->second, IsEnhance(op->second) ? argument - 1 : argument};
    const image::RgbImage in = image::ReadPng(*folder + "/ops_torchvision/" + entry.at("input").string_value());
    const image::RgbImage theirs = image::ReadPng(*folder + "/ops_torchvision/" + entry.at("file").string_value());
    const std::vector<uint8_t> ours =
        MakePixelsOf(in, choice, bilinear ? image::WarpSampling::kBilinear : image::WarpSampling::kNearest);
    ASSERT_EQ(ours.size(), theirs.rgb.size());
    int worst = 0;
    size_t same = 0;
    for (size_t i = 0; i < ours.size(); i += 3) {
      int difference = 0;
      for (size_t c = 0; c < 3; ++c) difference = std::max(difference, std::abs(ours[i + c] - theirs.rgb[i + c]));
      worst = std::max(worst, difference);
      same += difference == 0 ? 1 : 0;
    }
    if (bilinear) {
      EXPECT_LE(worst, 2) << name << ' ' << argument;
    } else if (MovesPixels(op->second)) {
      EXPECT_GE(static_cast<double>(same), 0.999 * static_cast<double>(ours.size() / 3)) << name << ' ' << argument;
    } else {
      EXPECT_LE(worst, Tolerance(op->second)) << name << ' ' << argument;
    }
  }
  // The table has every op except Identity.
  EXPECT_EQ(pictures.size(), 14u);
}

}  // namespace
}  // namespace penstock::augment
