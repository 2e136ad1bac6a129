// Mixup and cutmix: the distributions of the draws, the arithmetic on rows, and the fields of a job.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "pipeline/batch/mix_draw.h"
#include "pipeline/batch/mix_job.h"
#include "pipeline/batch/mix_plan.h"
#include "pipeline/batch/mix_rows.h"

namespace penstock::batch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MixDraw Draw(const MixLaw& law, uint64_t row, int64_t height = 32, int64_t width = 48) {
  return DrawMix(law, 17, 3, row, height, width);
}

TEST(MixDraw, IsAPureFunctionOfSeedEpochAndFirstRow) {
  const MixLaw law{.mixup_alpha = 0.4};
  const double lambda = DrawMix(law, 1, 2, 6, 32, 32).lambda;
  EXPECT_EQ(DrawMix(law, 1, 2, 6, 224, 224).lambda, lambda);
  EXPECT_NE(DrawMix(law, 2, 2, 6, 32, 32).lambda, lambda);
  EXPECT_NE(DrawMix(law, 1, 3, 6, 32, 32).lambda, lambda);
  EXPECT_NE(DrawMix(law, 1, 2, 8, 32, 32).lambda, lambda);
}

TEST(MixDraw, LambdaHasTheMomentsOfBeta) {
  for (const double alpha : {0.1, 0.2, 1.0, 4.0}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const MixDraw draw = Draw({.mixup_alpha = alpha}, static_cast<uint64_t>(2 * i));
      ASSERT_EQ(draw.kind, MixDraw::Kind::kMixup);
      ASSERT_GE(draw.lambda, 0);
      ASSERT_LE(draw.lambda, 1);
      sum += draw.lambda;
      squares += draw.lambda * draw.lambda;
    }
    const double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    EXPECT_NEAR(mean, 0.5, 0.015) << alpha;
    EXPECT_NEAR(variance, 1 / (4 * (2 * alpha + 1)), 0.005) << alpha;
  }
}

TEST(MixDraw, KindsHaveTheirProbabilities) {
  int none = 0, mixup = 0, cutmix = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const MixDraw draw = Draw({.mixup_alpha = 0.2, .cutmix_alpha = 1, .probability = 0.8, .cutmix_share = 0.25},
                              static_cast<uint64_t>(i));
    none += draw.kind == MixDraw::Kind::kNone;
    mixup += draw.kind == MixDraw::Kind::kMixup;
    cutmix += draw.kind == MixDraw::Kind::kCutmix;
  }
  EXPECT_NEAR(1.0 * none / kDraws, 0.2, 0.015);
  EXPECT_NEAR(1.0 * mixup / kDraws, 0.6, 0.015);
  EXPECT_NEAR(1.0 * cutmix / kDraws, 0.2, 0.015);
}

TEST(MixDraw, ABoxLiesInTheImageAndLambdaIsTheAreaOutsideTheBox) {
  int empty = 0;
  for (uint64_t row = 0; row < 5000; ++row) {
    const MixDraw draw = Draw({.cutmix_alpha = 1}, row, 31, 47);
    ASSERT_EQ(draw.kind, MixDraw::Kind::kCutmix);
    ASSERT_TRUE(0 <= draw.box.x0 && draw.box.x0 <= draw.box.x1 && draw.box.x1 <= 47) << row;
    ASSERT_TRUE(0 <= draw.box.y0 && draw.box.y0 <= draw.box.y1 && draw.box.y1 <= 31) << row;
    ASSERT_DOUBLE_EQ(draw.lambda, 1 - draw.box.area() / (31.0 * 47)) << row;
    // Unclipped boxes have the image's aspect.
    if (draw.box.x0 > 0 && draw.box.y0 > 0 && draw.box.x1 < 47 && draw.box.y1 < 31) {
      ASSERT_NEAR((draw.box.x1 - draw.box.x0) / 47.0, (draw.box.y1 - draw.box.y0) / 31.0, 0.1) << row;
    }
    empty += draw.box.area() == 0;
  }
  EXPECT_GT(empty, 0);
  EXPECT_LT(empty, 100);
}

// A change to a number here changes every run that mixes: raise kArithmeticVersion in augment/pipeline.cc.
TEST(MixDraw, GoldenValues) {
  const MixDraw mixup = DrawMix({.mixup_alpha = 0.2}, 17, 0, 0, 224, 224);
  EXPECT_EQ(mixup.lambda, 0.96797955301572458);
  const MixDraw cutmix = DrawMix({.cutmix_alpha = 1}, 17, 5, 1024, 224, 160);
  EXPECT_EQ(cutmix.box, (MixBox{29, 0, 97, 62}));
  EXPECT_DOUBLE_EQ(cutmix.lambda, 1 - cutmix.box.area() / (224.0 * 160));
}

std::vector<uint8_t> RandomBytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

template <typename T>
std::byte* Bytes(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

TEST(Blend, BytesAreRoundedToTheNearest) {
  for (const double lambda : {0.0, 0.125, 0.2, 0.5, 0.73, 0.999, 1.0}) {
    std::vector<uint8_t> a, b;
    for (int x = 0; x < 256; ++x) {
      for (int y = 0; y < 256; ++y) {
        a.push_back(static_cast<uint8_t>(x));
        b.push_back(static_cast<uint8_t>(y));
      }
    }
    const std::vector<uint8_t> x = a, y = b;
    Blend(DType::kUint8, a.size(), lambda, Bytes(a), Bytes(b));
    for (size_t i = 0; i < a.size(); ++i) {
      // The weight has 15 bits. The error is at most 2^-16 * 255, plus the rounding.
      ASSERT_LE(std::abs(a[i] - (lambda * x[i] + (1 - lambda) * y[i])), 0.504) << lambda << " " << i;
      ASSERT_LE(std::abs(b[i] - (lambda * y[i] + (1 - lambda) * x[i])), 0.504) << lambda << " " << i;
    }
  }
}

TEST(Blend, BytesFollowTheFormulaAtAnyLengthAndAlignment) {
  for (size_t count = 0; count < 70; ++count) {
    std::vector<uint8_t> a = RandomBytes(count + 1, 1), b = RandomBytes(count + 1, 2);
    const std::vector<uint8_t> x = a, y = b;
    const uint32_t w = 9830, v = 32768 - w;  // 0.3
    Blend(DType::kUint8, count, 0.3, Bytes(a) + 1, Bytes(b) + 1);
    EXPECT_EQ(a[0], x[0]);
    for (size_t i = 1; i <= count; ++i) {
      ASSERT_EQ(a[i], (x[i] * w + y[i] * v + 16384) >> 15);
      ASSERT_EQ(b[i], (y[i] * w + x[i] * v + 16384) >> 15);
    }
  }
}

TEST(Blend, FloatsAreTwoProductsAndASum) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-3, 3);
  std::vector<float> a(37), b(37);
  for (float& x : a) x = uniform(random);
  for (float& x : b) x = uniform(random);
  const std::vector<float> x = a, y = b;
  Blend(DType::kFloat32, a.size(), 0.3, Bytes(a), Bytes(b));
  const float l = 0.3f, m = 1.0f - l;
  for (size_t i = 0; i < a.size(); ++i) {
    const volatile float xl = x[i] * l, ym = y[i] * m, yl = y[i] * l, xm = x[i] * m;
    ASSERT_EQ(a[i], xl + ym);
    ASSERT_EQ(b[i], yl + xm);
  }
}

TEST(Blend, HalvesAreBlendedInFloat32) {
  std::vector<uint16_t> a, b;
  for (int i = 0; i < 500; ++i) {
    a.push_back(FloatToHalf(static_cast<float>(i) * 0.37f - 90));
    b.push_back(FloatToHalf(5 - static_cast<float>(i) * 0.11f));
  }
  std::vector<uint16_t> x = a, y = b;
  Blend(DType::kFloat16, a.size(), 0.6, Bytes(a), Bytes(b));
  const float l = 0.6f, m = 1.0f - l;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i], FloatToHalf(HalfToFloat(x[i]) * l + HalfToFloat(y[i]) * m));
    ASSERT_EQ(b[i], FloatToHalf(HalfToFloat(y[i]) * l + HalfToFloat(x[i]) * m));
  }
  x = {FloatToBfloat16(1.5f)};
  y = {FloatToBfloat16(-7.25f)};
  Blend(DType::kBfloat16, 1, 0.6, Bytes(x), Bytes(y));
  EXPECT_EQ(x[0], FloatToBfloat16(1.5f * l + -7.25f * m));
  EXPECT_EQ(y[0], FloatToBfloat16(-7.25f * l + 1.5f * m));
}

TEST(SwapBox, SwapsOnlyThePixelsInsideTheBoxInBothLayouts) {
  constexpr int64_t kHeight = 6, kWidth = 9, kChannels = 3;
  const MixBox box{2, 1, 7, 5};
  for (const bool channels_first : {false, true}) {
    std::vector<uint16_t> a(kHeight * kWidth * kChannels), b(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<uint16_t>(i);
      b[i] = static_cast<uint16_t>(1000 + i);
    }
    const std::vector<uint16_t> x = a, y = b;
    const PixelLayout layout =
        channels_first ? PixelLayout{kChannels, kHeight, kWidth, 2} : PixelLayout{1, kHeight, kWidth, 2 * kChannels};
    SwapBox(layout, box, Bytes(a), Bytes(b));
    for (size_t i = 0; i < a.size(); ++i) {
      const size_t pixel = channels_first ? i % (kHeight * kWidth) : i / kChannels;
      const auto row = static_cast<int64_t>(pixel / kWidth), column = static_cast<int64_t>(pixel % kWidth);
      const bool inside = column >= 2 && column < 7 && row >= 1 && row < 5;
      ASSERT_EQ(a[i], inside ? y[i] : x[i]) << channels_first << " " << i;
      ASSERT_EQ(b[i], inside ? x[i] : y[i]) << channels_first << " " << i;
    }
  }
}

TEST(SoftLabel, SumsToOneAndSmoothsAsOneHotDoes) {
  std::vector<float> label(10);
  for (const float smoothing : {0.0f, 0.1f}) {
    WriteSoftLabel(3, 10, smoothing, Bytes(label));
    EXPECT_FLOAT_EQ(label[3], 1 - smoothing + smoothing / 10);
    EXPECT_FLOAT_EQ(label[4], smoothing / 10);
    float sum = 0;
    for (const float x : label) sum += x;
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  for (const int64_t unknown : {int64_t{-1}, int64_t{10}, INT64_MAX, INT64_MIN}) {
    WriteSoftLabel(unknown, 10, 0.1f, Bytes(label));
    EXPECT_EQ(*std::max_element(label.begin(), label.end()), 0);
  }
}

TEST(SoftLabel, IntegersOfAllTypesAreRead) {
  const int64_t value = -2;
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  EXPECT_EQ(LoadInteger(DType::kInt64, bytes), -2);
  EXPECT_EQ(LoadInteger(DType::kInt32, bytes), -2);
  EXPECT_EQ(LoadInteger(DType::kInt16, bytes), -2);
  EXPECT_EQ(LoadInteger(DType::kInt8, bytes), -2);
  EXPECT_EQ(LoadInteger(DType::kUint16, bytes), 65534);
  EXPECT_EQ(LoadInteger(DType::kUint32, bytes), 4294967294);
  EXPECT_EQ(LoadInteger(DType::kUint64, bytes), -1) << "over the range of int64";
  const uint64_t largest = INT64_MAX;
  EXPECT_EQ(LoadInteger(DType::kUint64, reinterpret_cast<const std::byte*>(&largest)), INT64_MAX);
  EXPECT_EQ(LoadInteger(DType::kUint8, bytes), 254);
}

TEST(MixGroup, MixesImagesAndLabelsOfEachRowWithItsPartner) {
  for (const size_t group : {2u, 3u, 4u, 5u}) {
    for (const auto kind : {MixDraw::Kind::kMixup, MixDraw::Kind::kCutmix, MixDraw::Kind::kNone}) {
      std::vector<std::vector<uint8_t>> images;
      std::vector<std::vector<float>> labels;
      for (size_t row = 0; row < group; ++row) {
        images.emplace_back(4 * 4 * 3, static_cast<uint8_t>(40 * row));
        labels.emplace_back(5);
        WriteSoftLabel(static_cast<int64_t>(row), 5, 0, Bytes(labels.back()));
      }
      std::vector<std::byte*> image_rows, label_rows;
      for (size_t row = 0; row < group; ++row) {
        image_rows.push_back(Bytes(images[row]));
        label_rows.push_back(Bytes(labels[row]));
      }
      MixTensors tensors;
      tensors.image_elements = 48;
      tensors.pixels = {1, 4, 4, 3};
      tensors.classes = 5;
      MixGroup(tensors, {kind, 0.75, {1, 1, 3, 3}}, image_rows, label_rows);
      for (size_t row = 0; row < group; ++row) {
        const size_t partner = group - 1 - row;
        const bool mixed = kind != MixDraw::Kind::kNone && partner != row;
        double mean = 0;
        for (const uint8_t x : images[row]) mean += x / 48.0;
        EXPECT_NEAR(mean, mixed ? 0.75 * 40 * row + 0.25 * 40 * partner : 40.0 * row, 0.51);
        for (size_t k = 0; k < 5; ++k) {
          const float own = k == row ? 1.0f : 0.0f, other = k == partner ? 1.0f : 0.0f;
          EXPECT_EQ(labels[row][k], mixed ? own * 0.75f + other * 0.25f : own);
        }
      }
    }
  }
}

v1::Mix Mix(const std::string& text) {
  v1::Mix mix;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &mix)) << text;
  return mix;
}

RowSchema Schema(ColumnSpec image, ColumnSpec label) {
  image.name = "image";
  label.name = "label";
  return {{image, label}};
}

ColumnSpec Tensor(DType dtype, std::vector<int64_t> shape, bool ragged = false) {
  ColumnSpec column;
  column.dtype = dtype;
  column.shape = std::move(shape);
  column.ragged = ragged;
  return column;
}

const ColumnSpec kImage = Tensor(DType::kUint8, {8, 6, 3});
const ColumnSpec kLabel = Tensor(DType::kInt64, {});

TEST(MixPlan, AnIntegerLabelBecomesAFloatColumn) {
  const RowSchema rows = Schema(kImage, kLabel);
  const auto plan = MakeMixPlan(Mix("mixup_alpha: 0.5 classes: 10 smoothing: 0.25"), rows);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->group, 2u);
  EXPECT_EQ(plan->law.mixup_alpha, 0.5);
  EXPECT_EQ(plan->law.probability, 1);
  EXPECT_EQ(plan->smoothing, 0.25f);
  EXPECT_TRUE(plan->integer_labels);
  EXPECT_EQ(plan->tensors.image_elements, 144u);
  const RowSchema mixed = MixedSchema(rows, *plan);
  EXPECT_EQ(mixed.columns[0], rows.columns[0]);
  EXPECT_EQ(mixed.columns[1].dtype, DType::kFloat32);
  EXPECT_THAT(mixed.columns[1].shape, ElementsAre(10));
}

TEST(MixPlan, ASoftLabelKeepsItsType) {
  const RowSchema rows = Schema(kImage, Tensor(DType::kFloat16, {7}));
  const auto plan = MakeMixPlan(Mix("cutmix_alpha: 1 group: 4 probability: 0"), rows);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(plan->integer_labels);
  EXPECT_EQ(plan->group, 4u);
  EXPECT_EQ(plan->law.probability, 0);
  EXPECT_EQ(plan->tensors.classes, 7u);
  EXPECT_EQ(plan->tensors.label, DType::kFloat16);
  EXPECT_EQ(MixedSchema(rows, *plan), rows);
}

TEST(MixPlan, ChannelsAreFoundFirstOrLast) {
  const auto layout = [](std::vector<int64_t> shape) {
    return MakeMixPlan(Mix("cutmix_alpha: 1 classes: 2"), Schema(Tensor(DType::kFloat32, std::move(shape)), kLabel))
        ->tensors.pixels;
  };
  EXPECT_EQ(layout({8, 6, 3}).pixel_bytes, 12u);
  EXPECT_EQ(layout({8, 6, 3}).planes, 1);
  EXPECT_EQ(layout({3, 8, 6}).planes, 3);
  EXPECT_EQ(layout({3, 8, 6}).height, 8);
  EXPECT_EQ(layout({3, 4, 4}).planes, 3) << "3 is a likelier number of channels than 4";
  EXPECT_EQ(layout({8, 6, 4}).pixel_bytes, 16u);
  EXPECT_EQ(layout({8, 6}).width, 6);
}

TEST(MixPlan, MistakesNameTheFieldTheColumnAndTheFix) {
  const auto check = [](const std::string& mix, const ColumnSpec& image, const ColumnSpec& label) {
    return CheckMixColumns(Mix(mix), Schema(image, label));
  };
  EXPECT_THAT(check("mixup_alpha: 1 classes: 3", kImage, kLabel), IsEmpty());
  EXPECT_THAT(check("mixup_alpha: 1", kImage, kLabel), ElementsAre(HasSubstr("mix.classes: is required")));
  EXPECT_THAT(check("mixup_alpha: 1", kImage, Tensor(DType::kFloat32, {5})), IsEmpty());
  EXPECT_THAT(check("mixup_alpha: 1 classes: 4", kImage, Tensor(DType::kFloat32, {5})),
              ElementsAre(HasSubstr("mix.classes: is 4, but column 'label' is float32 [5]")));
  EXPECT_THAT(check("mixup_alpha: 1 smoothing: 0.1", kImage, Tensor(DType::kFloat32, {5})),
              ElementsAre(HasSubstr("give it to one_hot")));
  EXPECT_THAT(check("mixup_alpha: 1 classes: 4", kImage, Tensor(DType::kFloat32, {})),
              ElementsAre(HasSubstr("mix.label: column 'label' is float32; mixing needs an integer scalar")));
  EXPECT_THAT(check("mixup_alpha: 1 classes: 4", kImage, Tensor(DType::kInt64, {}, true)),
              ElementsAre(HasSubstr("ragged int64")));
  EXPECT_THAT(check("mixup_alpha: 1 classes: 4", Tensor(DType::kInt32, {8, 6, 3}), kLabel),
              ElementsAre(HasSubstr("mix.image: column 'image' is int32 [8, 6, 3]")));
  EXPECT_THAT(check("cutmix_alpha: 1 classes: 4", Tensor(DType::kUint8, {8, 6, 7}), kLabel),
              ElementsAre(HasSubstr("1 to 4 channels")));
  EXPECT_THAT(check("mixup_alpha: 1 classes: 4", Tensor(DType::kUint8, {8, 6, 7}), kLabel), IsEmpty());
  EXPECT_THAT(check("mixup_alpha: 1 image: 'picture' label: 'class'", kImage, kLabel),
              ElementsAre(HasSubstr("no column 'picture'"), HasSubstr("no column 'class'")));
  EXPECT_THAT(check("mixup_alpha: 1 label: 'image'", kImage, kLabel), ElementsAre(HasSubstr("column of the images")));
  EXPECT_EQ(MakeMixPlan(Mix("classes: 3"), Schema(kImage, kLabel)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeMixPlan(Mix("mixup_alpha: nan classes: 3"), Schema(kImage, kLabel)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock::batch
