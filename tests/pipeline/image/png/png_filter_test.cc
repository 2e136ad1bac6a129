#include "pipeline/image/png/png_filter.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "hwy/targets.h"

namespace penstock::image {
namespace {

std::vector<uint8_t> Noise(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(size + kPngFilterMargin);
  // Half of the seeds give values near each other, and therefore similar distances.
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(seed % 2 == 0 ? random() : random() % 4);
  return bytes;
}

// Every instruction set of this machine.
class PngFilter : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(PngFilter, OneRowEqualsTheBytewiseResult) {
  for (const size_t step : {1, 2, 3, 4, 6, 8}) {
    for (const size_t pixels : {1, 2, 3, 5, 16, 33, 224}) {
      const size_t count = step * pixels;
      for (uint8_t filter = 0; filter < kPngFilters; ++filter) {
        for (uint32_t seed = 0; seed < 6; ++seed) {
          const std::vector<uint8_t> filtered = Noise(count, seed), above = Noise(count, seed + 2);
          std::vector<uint8_t> row(count + kPngFilterMargin), wanted(count);
          UndoPngFilter(filter, step, filtered.data(), above.data(), count, row.data());
          UndoPngFilterScalar(filter, step, filtered.data(), above.data(), count, wanted.data());
          row.resize(count);
          ASSERT_EQ(row, wanted) << "filter " << int{filter} << ", step " << step << ", " << pixels << " pixels";
        }
      }
    }
  }
}

TEST_P(PngFilter, TwoRowsAtOnceEqualOneRowAfterTheOther) {
  for (const size_t step : {1, 3, 4, 6}) {
    for (const size_t pixels : {1, 2, 3, 17, 224}) {
      const size_t count = step * pixels;
      for (uint8_t filters = 0; filters < kPngFilters * kPngFilters; ++filters) {
        std::vector<uint8_t> upper = Noise(count + 1, filters), lower = Noise(count + 1, filters + 1u);
        const std::vector<uint8_t> above = Noise(count, filters + 2u);
        upper[0] = filters / kPngFilters;
        lower[0] = filters % kPngFilters;
        std::vector<uint8_t> row(count + kPngFilterMargin), below(row), wanted(count), wanted_below(count);
        UndoPngFilters(step, upper.data(), lower.data(), above.data(), count, row.data(), below.data());
        UndoPngFilterScalar(upper[0], step, upper.data() + 1, above.data(), count, wanted.data());
        UndoPngFilterScalar(lower[0], step, lower.data() + 1, wanted.data(), count, wanted_below.data());
        row.resize(count);
        below.resize(count);
        ASSERT_EQ(row, wanted) << "filters " << int{filters} << ", step " << step << ", " << pixels << " pixels";
        ASSERT_EQ(below, wanted_below) << "filters " << int{filters} << ", step " << step << ", " << pixels
                                       << " pixels";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PngFilter, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()));

}  // namespace
}  // namespace penstock::image
