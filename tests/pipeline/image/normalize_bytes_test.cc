#include "pipeline/image/normalize_bytes.h"

#include <gtest/gtest.h>

#include <vector>

#include "hwy/targets.h"

namespace penstock::image {
namespace {

// All 256 bytes in every channel and lane, sizes on both sides of the vectors' steps, and exact allocations.
TEST(NormalizeBytes, EveryVectorTargetGivesTheScalarBits) {
  // Usual statistics, then values that become halves' subnormals, infinities and both signs.
  const struct {
    float scale, mean, std;
  } kKinds[] = {{1.0f / 255.0f, 0.485f, 0.229f}, {1.0f, 127.0f, 1e6f},    {1e-4f, 0.005f, 900.0f},
                {300.0f, 100.0f, 1.0f},          {1.0f, 65519.0f, 1.0f},  {3e37f, 5e37f, 1e-3f},
                {1e-38f, 1e-37f, 1.0f},          {257.0f, 0.25f, 1.0001f}};
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const auto& kind : kKinds) {
      for (const size_t channels : {1u, 2u, 3u, 4u, 5u}) {
        for (const size_t pixels : {0u, 1u, 7u, 16u, 33u, 300u}) {
          for (const bool first : {false, true}) {
            for (const FloatType to : {FloatType::kFloat32, FloatType::kFloat16, FloatType::kBfloat16}) {
              BytesToFloats how{kind.scale, {}, {}, to, first};
              for (size_t c = 0; c < channels; ++c) {
                how.mean.push_back(kind.mean * static_cast<float>(c + 1));
                how.std.push_back(kind.std * static_cast<float>(2 * c + 1));
              }
              std::vector<uint8_t> in(pixels * channels);
              for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i / channels * 7 + i % channels);
              const size_t size = to == FloatType::kFloat32 ? 4 : 2;
              std::vector<uint8_t> wanted(in.size() * size, 1), got(in.size() * size, 2);
              NormalizeBytesScalar(how, in.data(), pixels, wanted.data());
              NormalizeBytes(how, in.data(), pixels, got.data());
              ASSERT_EQ(wanted, got) << "target " << target << ", " << channels << " channels, " << pixels
                                     << " pixels, type " << static_cast<int>(to) << ", first " << first;
            }
          }
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace penstock::image
