// The loops of adjust.h: every CPU target gives the same bytes as the scalar loop.
#include "pipeline/image/adjust_loops.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/philox.h"
#include "hwy/targets.h"

namespace penstock::image {
namespace {

using Pixels = std::vector<uint8_t>;

// A random image of random size inside a larger one. Its values are within `spread` around a middle.
struct Sample {
  int width, height, channels;
  size_t stride;
  Pixels bytes;
  Sample(SampleRandom* random, int channels_of)
      : width(1 + static_cast<int>(random->Below(150))),
        height(1 + static_cast<int>(random->Below(5))),
        channels(channels_of),
        stride(static_cast<size_t>(width * channels) + 7 * random->Below(2)),
        bytes(stride * static_cast<size_t>(height)) {
    const uint32_t spread = random->Below(2) == 0 ? 256 : 7, least = random->Below(257 - spread);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(least + random->Below(spread));
  }
  ImageView view() const { return {bytes.data(), width, height, channels, stride}; }
};

class AdjustLoops : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }

  // Compares vector and scalar loops, into another image and in place.
  template <typename Vector, typename Scalar>
  void Compare(const Sample& sample, Vector vector, Scalar scalar) {
    Pixels wanted = sample.bytes, ours = sample.bytes, place = sample.bytes;
    scalar(sample.view(), ImageTarget{wanted.data(), sample.stride});
    vector(sample.view(), ImageTarget{ours.data(), sample.stride});
    ASSERT_EQ(ours, wanted);
    ImageView inside = sample.view();
    inside.data = place.data();
    vector(inside, ImageTarget{place.data(), sample.stride});
    ASSERT_EQ(place, wanted);
  }
};

TEST_P(AdjustLoops, MatchTheScalarLoops) {
  for (uint64_t i = 0; i < 150; ++i) {
    SampleRandom random(8, i, 0);
    const Sample any(&random, 1 + 2 * static_cast<int>(random.Below(2))), rgb(&random, 3);
    const uint8_t mask = static_cast<uint8_t>(random.Next32());
    const int threshold = static_cast<int>(random.Below(257));
    const float factor = static_cast<float>(random.Uniform(0, 3));
    const uint8_t shift = static_cast<uint8_t>(random.Next32());
    PointTables tables;
    for (auto& table : tables.of) {
      for (uint8_t& value : table) value = static_cast<uint8_t>(random.Next32());
    }
    Compare(
        any, [&](const ImageView& in, ImageTarget out) { MaskAndInvert(in, mask, threshold, out); },
        [&](const ImageView& in, ImageTarget out) { MaskAndInvertScalar(in, mask, threshold, out); });
    Compare(
        any, [&](const ImageView& in, ImageTarget out) { LookUp(in, tables.of[0], out); },
        [&](const ImageView& in, ImageTarget out) { LookUpScalar(in, tables.of[0], out); });
    Compare(
        rgb, [&](const ImageView& in, ImageTarget out) { LookUpChannels(in, tables, out); },
        [&](const ImageView& in, ImageTarget out) { LookUpChannelsScalar(in, tables, out); });
    Compare(
        rgb, [&](const ImageView& in, ImageTarget out) { SpreadLuma(in, out); },
        [&](const ImageView& in, ImageTarget out) { SpreadLumaScalar(in, out); });
    Compare(
        rgb, [&](const ImageView& in, ImageTarget out) { BlendLuma(in, factor, out); },
        [&](const ImageView& in, ImageTarget out) { BlendLumaScalar(in, factor, out); });
    Compare(
        rgb, [&](const ImageView& in, ImageTarget out) { TurnHue(in, shift, out); },
        [&](const ImageView& in, ImageTarget out) { TurnHueScalar(in, shift, out); });
    ASSERT_EQ(SumLuma(rgb.view()), SumLumaScalar(rgb.view()));
    const ChannelRange range = FindRange(any.view()), scalar = FindRangeScalar(any.view());
    for (int c = 0; c < any.channels; ++c) {
      ASSERT_EQ(range.low[c], scalar.low[c]);
      ASSERT_EQ(range.high[c], scalar.high[c]);
    }
    if (any.height < 3 || any.width < 3) continue;
    Pixels ours(any.view().row_bytes()), wanted = ours;
    const ImageView v = any.view();
    const size_t channels = static_cast<size_t>(v.channels);
    BlendSmoothRow(v.row(0), v.row(1), v.row(2), v.row_bytes(), channels, factor, ours.data());
    BlendSmoothRowScalar(v.row(0), v.row(1), v.row(2), v.row_bytes(), channels, factor, wanted.data());
    ASSERT_EQ(ours, wanted);
  }
}

TEST_P(AdjustLoops, EveryLumaMatchesTheScalarLoop) {
  // All red and green values with some blue ones.
  Pixels pixels;
  for (int r = 0; r < 256; ++r) {
    for (int g = 0; g < 256; ++g) {
      for (const int b : {0, (r * 7 + g * 13) % 256, 255}) {
        for (const int value : {r, g, b}) pixels.push_back(static_cast<uint8_t>(value));
      }
    }
  }
  const ImageView view{pixels.data(), 256, 768, 3, 768};
  Pixels ours(pixels.size()), wanted(pixels.size());
  SpreadLuma(view, {ours.data(), 768});
  SpreadLumaScalar(view, {wanted.data(), 768});
  EXPECT_EQ(ours, wanted);
}

INSTANTIATE_TEST_SUITE_P(Targets, AdjustLoops, ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()));

}  // namespace
}  // namespace penstock::image
