#include "pipeline/image/resize/bilinear_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/philox.h"
#include "hwy/targets.h"
#include "tests/pipeline/image/resize/random_resizes.h"

namespace penstock::image {
namespace {

// Compares with Pillow's formula, output by output.
void ExpectTheFormula(int in_size, int out_size, int begin, int end, bool mirror) {
  FilterTable table;
  BuildFilterTable(ResizeFilter::kBilinear, in_size, out_size, begin, end, mirror, &table);
  ASSERT_EQ(table.first.size(), static_cast<size_t>(end - begin));
  const double scale = static_cast<double>(in_size) / out_size, support = std::max(scale, 1.0);
  for (size_t o = 0; o < table.first.size(); ++o) {
    const int i = mirror ? end - 1 - static_cast<int>(o) : begin + static_cast<int>(o);
    const double center = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(center - support + 0.5));
    const int count = std::min(in_size, static_cast<int>(center + support + 0.5)) - first;
    ASSERT_EQ(table.first[o], first);
    ASSERT_EQ(table.count[o], count);
    std::vector<double> weights;
    double sum = 0.0;
    for (int t = 0; t < count; ++t) {
      const double x = std::fabs((t + first - center + 0.5) * (1.0 / support));
      weights.push_back(x < 1.0 ? 1.0 - x : 0.0);
      sum += weights.back();
    }
    for (int t = 0; t < table.taps; ++t) {
      const double w = t < count ? weights[static_cast<size_t>(t)] / sum * (1 << kWeightBits) + 0.5 : 0.0;
      ASSERT_EQ(table.weight[o * static_cast<size_t>(table.taps) + static_cast<size_t>(t)], static_cast<int32_t>(w))
          << in_size << " to " << out_size << ", output " << i << ", tap " << t;
    }
  }
}

TEST(BilinearTable, MatchesTheFormulaOnEveryTarget) {
  SampleRandom random(5, 8, 0);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (int round = 0; round < 300; ++round) {
      const int limit = round % 3 == 0 ? 10 : round % 3 == 1 ? 300 : 4000;
      const int in_size = Pick(&random, 1, limit), out_size = Pick(&random, 1, 300);
      const int begin = Pick(&random, 0, out_size - 1), end = Pick(&random, begin + 1, out_size);
      ExpectTheFormula(in_size, out_size, begin, end, round % 2 == 1);
      if (HasFatalFailure()) break;
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace penstock::image
