// auto_augment, rand_augment, trivial_augment_wide, augmix: tables, magnitudes, draws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/augment/ops/policy/auto_augment.h"
#include "pipeline/augment/ops/policy/rand_augment.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/op_examples.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::augment {
namespace {

const OpExampleRegistration kPolicyExamples{
    {"auto_augment", ""},
    {"auto_augment", "policy: CIFAR10 filter: NEAREST"},
    {"auto_augment", "policy: SVHN fill: 128"},
    {"rand_augment", ""},
    {"rand_augment", "num_ops: 4 magnitude: 25 filter: NEAREST"},
    {"trivial_augment_wide", ""},
    {"augmix", ""},
};

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Written(const AutoAugmentStep& step) {
  std::string text = absl::StrCat(std::string(PolicyOpName(step.op)), " ", step.probability);
  if (HasMagnitude(step.op)) absl::StrAppend(&text, " ", static_cast<int>(step.bin));
  return text;
}

std::string Written(v1::AutoAugment::Policy policy) {
  std::string text;
  for (const AutoAugmentPair& pair : AutoAugmentPairs(policy)) {
    absl::StrAppend(&text, Written(pair.first), ", ", Written(pair.second), "\n");
  }
  return text;
}

// The tables, transcribed a second time from torchvision's source.
TEST(AutoAugment, TablesMatchTorchvision) {
  EXPECT_EQ(Written(v1::AutoAugment::IMAGENET),
            "Posterize 0.4 8, Rotate 0.6 9\nSolarize 0.6 5, AutoContrast 0.6\nEqualize 0.8, Equalize 0.6\n"
            "Posterize 0.6 7, Posterize 0.6 6\nEqualize 0.4, Solarize 0.2 4\nEqualize 0.4, Rotate 0.8 8\n"
            "Solarize 0.6 3, Equalize 0.6\nPosterize 0.8 5, Equalize 1\nRotate 0.2 3, Solarize 0.6 8\n"
            "Equalize 0.6, Posterize 0.4 6\nRotate 0.8 8, Color 0.4 0\nRotate 0.4 9, Equalize 0.6\n"
            "Equalize 0, Equalize 0.8\nInvert 0.6, Equalize 1\nColor 0.6 4, Contrast 1 8\nRotate 0.8 8, Color 1 2\n"
            "Color 0.8 8, Solarize 0.8 7\nSharpness 0.4 7, Invert 0.6\nShearX 0.6 5, Equalize 1\n"
            "Color 0.4 0, Equalize 0.6\nEqualize 0.4, Solarize 0.2 4\nSolarize 0.6 5, AutoContrast 0.6\n"
            "Invert 0.6, Equalize 1\nColor 0.6 4, Contrast 1 8\nEqualize 0.8, Equalize 0.6\n");
  EXPECT_EQ(Written(v1::AutoAugment::CIFAR10),
            "Invert 0.1, Contrast 0.2 6\nRotate 0.7 2, TranslateX 0.3 9\nSharpness 0.8 1, Sharpness 0.9 3\n"
            "ShearY 0.5 8, TranslateY 0.7 9\nAutoContrast 0.5, Equalize 0.9\nShearY 0.2 7, Posterize 0.3 7\n"
            "Color 0.4 3, Brightness 0.6 7\nSharpness 0.3 9, Brightness 0.7 9\nEqualize 0.6, Equalize 0.5\n"
            "Contrast 0.6 7, Sharpness 0.6 5\nColor 0.7 7, TranslateX 0.5 8\nEqualize 0.3, AutoContrast 0.4\n"
            "TranslateY 0.4 3, Sharpness 0.2 6\nBrightness 0.9 6, Color 0.2 8\nSolarize 0.5 2, Invert 0\n"
            "Equalize 0.2, AutoContrast 0.6\nEqualize 0.2, Equalize 0.6\nColor 0.9 9, Equalize 0.6\n"
            "AutoContrast 0.8, Solarize 0.2 8\nBrightness 0.1 3, Color 0.7 0\nSolarize 0.4 5, AutoContrast 0.9\n"
            "TranslateY 0.9 9, TranslateY 0.7 9\nAutoContrast 0.9, Solarize 0.8 3\nEqualize 0.8, Invert 0.1\n"
            "TranslateY 0.7 9, AutoContrast 0.9\n");
  EXPECT_EQ(Written(v1::AutoAugment::SVHN),
            "ShearX 0.9 4, Invert 0.2\nShearY 0.9 8, Invert 0.7\nEqualize 0.6, Solarize 0.6 6\n"
            "Invert 0.9, Equalize 0.6\nEqualize 0.6, Rotate 0.9 3\nShearX 0.9 4, AutoContrast 0.8\n"
            "ShearY 0.9 8, Invert 0.4\nShearY 0.9 5, Solarize 0.2 6\nInvert 0.9, AutoContrast 0.8\n"
            "Equalize 0.6, Rotate 0.9 3\nShearX 0.9 4, Solarize 0.3 3\nShearY 0.8 8, Invert 0.7\n"
            "Equalize 0.9, TranslateY 0.6 6\nInvert 0.9, Equalize 0.6\nContrast 0.3 3, Rotate 0.8 4\n"
            "Invert 0.8, TranslateY 0 2\nShearY 0.7 6, Solarize 0.4 8\nInvert 0.6, Rotate 0.8 4\n"
            "ShearY 0.3 7, TranslateX 0.9 3\nShearX 0.1 6, Invert 0.6\nSolarize 0.7 2, TranslateY 0.6 7\n"
            "ShearY 0.8 4, Invert 0.8\nShearX 0.7 9, TranslateY 0.8 3\nShearY 0.8 5, AutoContrast 0.7\n"
            "ShearX 0.7 2, Invert 0.1\n");
}

// make_policy_magnitudes.py writes both tables.
std::vector<std::string> TableLines(const std::string& file) {
  std::ifstream table("tests/pipeline/augment/ops/" + file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(table, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

PolicySpace SpaceOf(const std::string& policy) {
  if (policy == "trivial_augment_wide") return PolicySpace::kTrivialWide;
  return policy == "augmix" ? PolicySpace::kAugMix : PolicySpace::kAutoAugment;
}

std::map<std::string, PolicyOp> OpsByName() {
  std::map<std::string, PolicyOp> ops;
  for (int i = 0; i <= static_cast<int>(PolicyOp::kInvert); ++i) {
    ops[std::string(PolicyOpName(static_cast<PolicyOp>(i)))] = static_cast<PolicyOp>(i);
  }
  return ops;
}

TEST(PolicyOps, MagnitudesMatchTorchvisionToTheLastBit) {
  const std::map<std::string, PolicyOp> ops = OpsByName();
  const std::vector<std::string> lines = TableLines("policy_magnitudes.txt");
  ASSERT_EQ(lines.size(), size_t{352});
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string policy, name;
    uint32_t bins = 0;
    int width = 0, height = 0;
    uint32_t wanted = 0;
    words >> policy >> name >> bins >> width >> height >> std::hex >> wanted;
    std::vector<float> magnitudes;
    for (uint32_t bin = 0; bin < bins; ++bin) {
      const double magnitude = PolicyMagnitude(SpaceOf(policy), ops.at(name), bin, bins, width, height);
      magnitudes.push_back(static_cast<float>(magnitude));
      ASSERT_EQ(static_cast<double>(magnitudes.back()), magnitude) << line << ": torchvision has a float32";
    }
    EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(magnitudes.data()),
                    static_cast<uInt>(magnitudes.size() * sizeof(float))),
              wanted)
        << line;
  }
  // The best-known float32 magnitude: int() truncates it to 15, not 16.
  EXPECT_EQ(PolicyMagnitude(PolicySpace::kTrivialWide, PolicyOp::kTranslateX, 15, 31, 224, 224), 15.99999904632568359);
}

TEST(PolicyOps, PixelsMatchTorchvisionAtEveryMagnitude) {
  constexpr int kWidth = 61, kHeight = 47;
  std::vector<uint8_t> picture;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      for (int c = 0; c < 3; ++c) {
        picture.push_back(static_cast<uint8_t>((x * x * (c + 1) + y * (31 + 7 * c) + x * y) / 8 % 256));
      }
    }
  }
  const std::map<std::string, PolicyOp> ops = OpsByName();
  const std::vector<std::string> lines = TableLines("policy_pixels.txt");
  ASSERT_GT(lines.size(), size_t{1500});
  std::vector<uint8_t> out(picture.size());
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string policy, name, sign;
    uint32_t bins = 0, bin = 0, wanted = 0;
    words >> policy >> name >> bins >> bin >> sign >> std::hex >> wanted;
    PolicyChoice choice{ops.at(name), 0};
    if (HasMagnitude(choice.op)) {
      choice.magnitude = PolicyMagnitude(SpaceOf(policy), choice.op, bin, bins, kWidth, kHeight);
    }
    if (sign == "-") choice.magnitude = -choice.magnitude;
    MakePolicyPixels(choice, {.sampling = image::WarpSampling::kNearest, .fill = {}},
                     {picture.data(), kWidth, kHeight, 3, kWidth * 3}, {out.data(), kWidth * 3});
    EXPECT_EQ(crc32(0, out.data(), static_cast<uInt>(out.size())), wanted) << line;
  }
}

TEST(PolicyOps, MagnitudesOfAFewBinsHaveTheExpectedValues) {
  using enum PolicyOp;
  const auto row = [](PolicySpace space, PolicyOp op, uint32_t bins) {
    std::vector<double> magnitudes;
    for (uint32_t bin = 0; bin < bins; ++bin) magnitudes.push_back(PolicyMagnitude(space, op, bin, bins, 331, 662));
    return magnitudes;
  };
  constexpr auto kAuto = PolicySpace::kAutoAugment, kWide = PolicySpace::kTrivialWide, kMix = PolicySpace::kAugMix;
  // 8 - (arange(10) / 2.25).round(), 4 - the same; 8 - (arange(31) / 5).round().
  EXPECT_THAT(row(kAuto, kPosterize, 10), ElementsAre(8, 8, 7, 7, 6, 6, 5, 5, 4, 4));
  EXPECT_THAT(row(kMix, kPosterize, 10), ElementsAre(4, 4, 3, 3, 2, 2, 1, 1, 0, 0));
  EXPECT_THAT(row(kWide, kPosterize, 31),
              ElementsAre(8, 8, 8, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6, 5, 5, 5, 5, 5, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 2, 2, 2));
  EXPECT_THAT(row(kAuto, kSolarize, 4), ElementsAre(255, 170, 85, 0));
  EXPECT_THAT(row(kAuto, kTranslateX, 4), ElementsAre(0, 50, 100, 150));
  EXPECT_THAT(row(kAuto, kTranslateY, 4), ElementsAre(0, 100, 200, 300));
  EXPECT_THAT(row(kWide, kTranslateY, 3), ElementsAre(0, 16, 32));
  EXPECT_THAT(row(kAuto, kRotate, 4), ElementsAre(0, 10, 20, 30));
  EXPECT_THAT(row(kWide, kRotate, 4), ElementsAre(0, 45, 90, 135));
  EXPECT_THAT(row(kWide, kShearY, 2), ElementsAre(0, static_cast<double>(0.99f)));
  EXPECT_THAT(row(kAuto, kSharpness, 2), ElementsAre(0, static_cast<double>(0.9f)));
}

// Expects that a count of n draws is within five standard deviations of its expectation.
void ExpectCount(int count, int n, double p, const std::string& what) {
  EXPECT_NEAR(count, n * p, 5 * std::sqrt(n * p * (1 - p)) + 1) << what;
}

constexpr int kPolicyDraws = 20000;

TEST(RandAugment, OpsAndSignsAreUniform) {
  std::map<PolicyOp, int> counts, negative;
  for (uint64_t i = 0; i < kPolicyDraws; ++i) {
    SampleRandom random(7, i, 0);
    const PolicyChoice choice = DrawRandAugment(9, 31, 224, 224, &random);
    ++counts[choice.op];
    if (std::signbit(choice.magnitude)) ++negative[choice.op];
    EXPECT_EQ(std::abs(choice.magnitude),
              std::abs(PolicyMagnitude(PolicySpace::kAutoAugment, choice.op, 9, 31, 224, 224)));
  }
  EXPECT_EQ(counts.size(), 14u);
  for (const auto& [op, count] : counts) {
    ExpectCount(count, kPolicyDraws, 1 / 14.0, std::string(PolicyOpName(op)));
    ExpectCount(negative[op], count, IsSigned(op) ? 0.5 : 0, std::string(PolicyOpName(op)));
  }
}

TEST(TrivialAugmentWide, MagnitudesAreUniform) {
  std::map<std::pair<PolicyOp, double>, int> counts;
  std::map<PolicyOp, int> ops;
  for (uint64_t i = 0; i < kPolicyDraws; ++i) {
    SampleRandom random(8, i, 0);
    const PolicyChoice choice = DrawTrivialAugmentWide(5, 224, 224, &random);
    ++ops[choice.op];
    ++counts[{choice.op, std::abs(choice.magnitude)}];
  }
  for (const auto& [key, count] : counts) {
    if (!HasMagnitude(key.first)) continue;
    // posterize's five bins are 8, 6, 5, 4 and 2 bits (8 - round(1.5 i), ties to even): all of them differ.
    ExpectCount(count, ops[key.first], 0.2, absl::StrCat(std::string(PolicyOpName(key.first)), " ", key.second));
  }
  EXPECT_EQ(counts.size(), 11 * 5 + 3u);
}

TEST(AutoAugment, DrawsPairsOpsAndSignsWithTheirProbabilities) {
  // Counts by the first op of each of SVHN's pairs. Pairs with the same first op share a count.
  const auto pairs = AutoAugmentPairs(v1::AutoAugment::SVHN);
  std::map<PolicyOp, double> wanted;
  for (const AutoAugmentPair& pair : pairs) wanted[pair.first.op] += pair.first.probability / 25;
  std::map<PolicyOp, int> counts;
  int signs = 0, negative = 0;
  for (uint64_t i = 0; i < kPolicyDraws; ++i) {
    SampleRandom random(9, i, 0);
    const auto choices = DrawAutoAugment(pairs, 32, 32, &random);
    ++counts[choices[0].op];
    if (choices[1].op != PolicyOp::kIdentity && IsSigned(choices[1].op) && choices[1].magnitude != 0) {
      ++signs;
      negative += choices[1].magnitude < 0;
    }
  }
  for (const auto& [op, p] : wanted) ExpectCount(counts[op], kPolicyDraws, p, std::string(PolicyOpName(op)));
  ExpectCount(negative, signs, 0.5, "signs");
}

v1::JobSpec PolicyJob(const std::string& op) {
  return ParseJob(
      "features { key: 'pixels' column: 'image' type: BYTES decode_raw: UINT8 shape: 32 shape: 40 shape: 3 }\n"
      "ops { " +
      op + " }");
}

std::vector<uint8_t> Row(const Pipeline& pipeline, const std::vector<uint8_t>& pixels, uint64_t record) {
  OwnedRow row(pipeline.schema());
  RowScratch scratch;
  const SampleKey key{.seed = 5, .epoch = 1, .repeat = 0, .record_id = record};
  const std::string_view bytes(reinterpret_cast<const char*>(pixels.data()), pixels.size());
  EXPECT_TRUE(
      pipeline.MakeRow(records::ExampleBuilder().Bytes("pixels", bytes).Serialize(), key, &row.slot, &scratch).ok());
  return row.As<uint8_t>(0);
}

TEST(AugMix, WeightsSumToOne) {
  // With severity 1 no op changes this picture: moves are by 0, Posterize keeps 4 bits (128 stays 128), Solarize
  // inverts only 255, and AutoContrast and Equalize leave a flat picture unchanged.
  const auto pipeline = BuildPipeline(PolicyJob("augmix { severity: 1 no_color_ops: true }"));
  const std::vector<uint8_t> flat(32 * 40 * 3, 128);
  for (uint64_t record = 0; record < 50; ++record) {
    for (const uint8_t value : Row(*pipeline, flat, record)) ASSERT_NEAR(value, 128, 1);
  }
}

TEST(AugMix, AlphaSetsTheShareOfTheOriginalImage) {
  // For white pixels with fill 0, a large alpha gives one half of the image plus one half of the mean chain.
  const auto pipeline = BuildPipeline(PolicyJob("augmix { alpha: 1000 mixture_width: 1 chain_depth: 1 severity: 10 }"));
  const std::vector<uint8_t> white(32 * 40 * 3, 255);
  for (uint64_t record = 0; record < 50; ++record) {
    for (const uint8_t value : Row(*pipeline, white, record)) ASSERT_GE(value, 110);
  }
}

// These ops make the same rows in every release: states of running jobs depend on it.
TEST(Policies, RowsNeverChange) {
  const std::vector<uint8_t> pixels = image::MakePixels(40, 32, 3, 11);
  const auto digest = [&](const std::string& op) {
    const auto pipeline = BuildPipeline(PolicyJob(op));
    Fingerprint fingerprint;
    for (uint64_t record = 0; record < 20; ++record) {
      const std::vector<uint8_t> row = Row(*pipeline, pixels, record);
      fingerprint.Add(std::string_view(reinterpret_cast<const char*>(row.data()), row.size()));
    }
    return absl::StrCat(absl::Hex(fingerprint.value(), absl::kZeroPad16));
  };
  EXPECT_EQ(digest("auto_augment { }"), "ddcba9ff7567f3d4");
  EXPECT_EQ(digest("auto_augment { policy: CIFAR10 filter: NEAREST }"), "9a3f6d4d54e36fea");
  EXPECT_EQ(digest("auto_augment { policy: SVHN fill: 10 fill: 20 fill: 30 }"), "e973590daddff327");
  EXPECT_EQ(digest("rand_augment { }"), "f91f637af0efb6fd");
  EXPECT_EQ(digest("trivial_augment_wide { filter: NEAREST }"), "0c5563400f5e24e6");
  EXPECT_EQ(digest("augmix { }"), "5a03765bdb22f0f5");
}

TEST(Policies, AnImageThatNoOpChangesIsUntouched) {
  const std::vector<uint8_t> pixels = image::MakePixels(40, 32, 3, 11);
  const auto pipeline = BuildPipeline(PolicyJob("rand_augment { magnitude: 0 num_ops: 1 }"));
  int same = 0;
  for (uint64_t record = 0; record < 200; ++record) same += Row(*pipeline, pixels, record) == pixels ? 1 : 0;
  // All except solarize at 255 (which inverts white alone), autocontrast and equalize.
  EXPECT_GE(same, 130);
}

TEST(Policies, MistakesNameTheValidValues) {
  const auto mistakes = [](const std::string& op) { return CheckPipeline(PolicyJob(op)); };
  EXPECT_THAT(mistakes("rand_augment { magnitude: 31 }"),
              ElementsAre("ops[0].rand_augment.magnitude: 31 is no bin; they are 0 to 30 (num_magnitude_bins: 31)"));
  EXPECT_THAT(mistakes("rand_augment { num_ops: 17 }"), ElementsAre(HasSubstr("num_ops: must be from 1 to 16")));
  EXPECT_THAT(mistakes("trivial_augment_wide { num_magnitude_bins: 1 }"), ElementsAre(HasSubstr("from 2 to 1024")));
  EXPECT_THAT(mistakes("trivial_augment_wide { filter: LANCZOS }"), ElementsAre(HasSubstr("BILINEAR or NEAREST")));
  EXPECT_THAT(mistakes("auto_augment { fill: 1 fill: 2 }"), ElementsAre(HasSubstr("fill: has 2 values")));
  EXPECT_THAT(mistakes("augmix { severity: 11 }"), ElementsAre(HasSubstr("severity: must be from 1 to 10")));
  EXPECT_THAT(mistakes("augmix { alpha: -1 }"), ElementsAre(HasSubstr("alpha: must be above 0")));
  EXPECT_THAT(mistakes("augmix { chain_depth: 99 mixture_width: 99 }"),
              ElementsAre(HasSubstr("mixture_width"), HasSubstr("chain_depth")));
  EXPECT_THAT(mistakes("augmix { }"), IsEmpty());
}

TEST(Policies, GrayImagesWork) {
  for (const char* op :
       {"auto_augment { policy: CIFAR10 }", "rand_augment { }", "trivial_augment_wide { }", "augmix { }"}) {
    const auto pipeline = BuildPipeline(ParseJob(absl::StrCat(
        "features { key: 'pixels' column: 'image' type: BYTES decode_raw: UINT8 shape: 32 shape: 40 shape: 1 }\n"
        "ops { ",
        op, " }")));
    const std::vector<uint8_t> gray = image::MakePixels(40, 32, 1, 3);
    for (uint64_t record = 0; record < 40; ++record) EXPECT_EQ(Row(*pipeline, gray, record).size(), gray.size());
  }
}

}  // namespace
}  // namespace penstock::augment
